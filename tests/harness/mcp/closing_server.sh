# A stdio server whose tools close its streams, which a program in JavaScript cannot do.
answer() {
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%,*}
  case $line in
  *'"method":"initialize"'*)
    answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}'
    ;;
  *'"method":"tools/list"'*) answer '{"tools":[]}' ;;
  *'"name":"pid"'*) answer "{\"content\":[{\"type\":\"text\",\"text\":\"$$\"}]}" ;;
  *'"name":"output"'*) exec >&- ;;
  *'"name":"input"'*)
    exec <&-
    answer '{"content":[{"type":"text","text":"0"}]}'
    exec sleep 60
    ;;
  *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id" ;;
  esac
done
