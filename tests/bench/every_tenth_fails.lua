-- For wrk: every tenth request asks for what is not there.
local count = 0

function request()
  count = count + 1
  return wrk.format("GET", count % 10 == 0 and "/missing" or "/json")
end
