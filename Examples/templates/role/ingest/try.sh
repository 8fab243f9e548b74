# Registers a device of u-1 at the gateway of `make run`, and sends it a message. Another gateway: sh try.sh http://HOST:PORT
set -eu
gateway=${1:-http://127.0.0.1:8080}
curl -fsS "$gateway/v1/devices" -H 'authorization: Bearer a-token-of-the-backend' -H 'content-type: application/json' \
  -d '{ "user": "u-1", "token": "a-device", "platform": "android" }'
curl -fsS "$gateway/in/@ID@" -H 'authorization: Bearer a-token-to-try-with' -H 'content-type: application/json' \
  -d "{ \"id\": \"$(date +%s)-$$\", \"user\": \"u-1\", \"text\": \"It is on its way.\" }"
