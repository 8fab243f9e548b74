# Registers a device at the gateway of `make run`, lets the simulated FCM call it dead, and sends it a push: the plugin reports it.
# Another gateway: sh try.sh http://HOST:PORT CONTROL, with the control API that `signalbox demo` prints.
set -eu
gateway=${1:-http://127.0.0.1:8080} control=${2:-http://127.0.0.1:8082} token=device-$(date +%s)-$$
curl -fsS "$gateway/v1/devices" -H 'authorization: Bearer a-token-of-the-backend' -H 'content-type: application/json' \
  -d "{ \"user\": \"u-1\", \"token\": \"$token\", \"platform\": \"android\" }"
curl -fsS "$control/fcm/orders" -H 'content-type: application/json' \
  -d "{ \"order\": \"fail\", \"tokens\": [\"$token\"], \"status\": 404, \"reason\": \"UNREGISTERED\" }"
curl -fsS "$gateway/in/events" -H 'authorization: Bearer a-token-to-try-with' -H 'content-type: application/cloudevents+json' -d @- <<JSON
{ "specversion": "1.0", "id": "$token", "source": "/shop", "type": "order.paid",
  "data": { "title": "Thank you", "body": "It is on its way.", "devices": [{ "token": "$token", "platform": "android" }] } }
JSON
