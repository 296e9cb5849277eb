-- For wrk: posts its argument, a JSON-RPC request, with an id of its own each time: a session rejects an id that is in use.
local id = 0

function init(args)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  before, after = args[1]:match('^(.-"id":)%d+(.*)$')
end

function request()
  id = id + 1
  return wrk.format(nil, nil, nil, before .. id .. after)
end
