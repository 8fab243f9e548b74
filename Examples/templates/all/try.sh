# Sends the gateway of `make run` an event for one device. Another gateway: sh try.sh http://HOST:PORT
set -eu
curl -fsS "${1:-http://127.0.0.1:8080}/in/events" -H 'authorization: Bearer a-token-to-try-with' \
  -H 'content-type: application/cloudevents+json' -d @- <<JSON
{ "specversion": "1.0", "id": "$(date +%s)-$$", "source": "/shop", "type": "order.paid",
  "data": { "title": "Thank you", "body": "It is on its way.", "text": "It is on its way.",
            "devices": [{ "token": "a-device", "platform": "android" }] } }
JSON
