# Registers a device of u-1 at the gateway of `make run`: the events come by themselves. Another gateway: sh try.sh http://HOST:PORT
set -eu
curl -fsS "${1:-http://127.0.0.1:8080}/v1/devices" -H 'authorization: Bearer a-token-of-the-backend' \
  -H 'content-type: application/json' -d '{ "user": "u-1", "token": "a-device", "platform": "android" }'
