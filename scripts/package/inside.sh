#!/usr/bin/env bash
# The part of the package test that runs inside the clean Debian.
set -euo pipefail
fail() { printf 'not ok: %s\n' "$*" >&2; journalctl -u signalbox -n 30 --no-pager >&2 || true; exit 1; }
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
ok() { printf 'ok: %s\n' "$*"; }
is() { [ "$2" = "$3" ] || fail "$1: \"$2\" instead of \"$3\""; ok "$1"; }
until_so() { # WHAT COMMAND...: waits up to a minute
  local what=$1 _; shift
  for _ in $(seq 600); do if "$@" >/dev/null 2>&1; then ok "$what"; return; fi; sleep 0.1; done
  fail "$what"
}
of() { systemctl show signalbox.service -P "$1"; }
config=/etc/signalbox/gateway.yaml
deb=$(ls /package/signalbox_*.deb)

# --- What was installed
! command -v swift >/dev/null || fail "this machine has Swift"
missing=$(find /usr/bin/signalbox /usr/lib/signalbox /usr/lib/libsignalbox.so.1 -type f -exec ldd {} + | grep 'not found' || true)
is "every library of program, plugins and runtime is there" "$missing" ""
is "the program says its version" "$(signalbox --version)" "$(dpkg-query -W -f '${Version}' signalbox)"
is "every plugin of the package loads" "$(signalbox plugins list --json | wc -l)" "$(ls /usr/lib/signalbox/lib*.so | wc -l)"
is "the data folder is the gateway's alone" "$(stat -c '%U:%G %a' /var/lib/signalbox)" "signalbox:signalbox 700"
is "the gateway may read its configuration and not change it" \
  "$(stat -c '%U:%G %a' /etc/signalbox $config /etc/signalbox/environment /etc/signalbox/secrets | paste -sd,)" \
  "root:signalbox 750,root:signalbox 640,root:signalbox 640,root:signalbox 750"
is "a manual is there" "$(zcat /usr/share/man/man1/signalbox.1.gz | grep -c '^\.Ss run$')" 1
is "bash completes" "$(bash -c '. /usr/share/bash-completion/completions/signalbox; complete -p signalbox' | grep -c signalbox)" 1
is "the service is not enabled before it is configured" "$(systemctl is-enabled signalbox.service || true)" disabled
status=0; runuser -u signalbox -- signalbox check --config $config >/dev/null 2>&1 || status=$?
is "check refuses the configuration without secrets" $status 78

# --- Simulators instead of Apple and Google
mkdir /srv/sim
systemd-run -q --unit simulators sh -c \
  'exec signalbox simulate --folder /srv/sim --apns-port 2197 --fcm-port 8443 --control-port 9000 > /srv/sim/environment'
until_so "simulators run" grep -q SIGNALBOX_CA_FILE /srv/sim/environment
{
  sed -n 's/^export //p' /srv/sim/environment | sed 's|/srv/sim/|/etc/signalbox/secrets/|'
  printf 'ZENDESK_PATH_SECRET=demo\nZENDESK_API_TOKEN=demo\nZENDESK_DEDUPE=0s\n'
} > /etc/signalbox/environment
install -o root -g signalbox -m 640 /srv/sim/apns.p8 /srv/sim/fcm.json /srv/sim/ca.pem /etc/signalbox/secrets/
post() { curl -s -o /dev/null -w '%{http_code}' --max-time 20 -d @/usr/share/signalbox/reply.json http://127.0.0.1:8080/in/zendesk/demo; }
arrived() { curl -s "http://127.0.0.1:9000/$1/received?count=$2&timeout_ms=20000" | grep -o '"number"' | wc -l; }

# --- The service
systemctl enable -q --now signalbox.socket signalbox.service || fail "the service does not start"
is "systemctl start returns when the gateway serves" "$(of ActiveState) $(of StatusText)" "active Running"
is "readyz says so" "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8081/readyz)" 200
is "a webhook is taken" "$(post)" 200
is "its push reaches APNs" "$(arrived apns 1)" 1
is "its push reaches FCM" "$(arrived fcm 1)" 1
is "a crash leaves no core dump" "$(awk '/core file/ { print $5, $6 }' "/proc/$(of MainPID)/limits")" "0 0"
is "the database is the gateway's alone" "$(stat -c '%U %a' /var/lib/signalbox/* | sort -u)" "signalbox 600"
# Where root may not raise limits, LimitNICE= has no effect, and libdispatch says so.
is "nothing but log lines is in the journal" "$(journalctl -u signalbox _COMM=signalbox -o cat |
  grep -vE '^[0-9-]+T[0-9:.]+Z (INFO|NOTICE) |^Failed to set thread priority' || true)" ""
ok "systemd-analyze security: $(systemd-analyze security --no-pager signalbox.service | tail -n 1 | sed 's/.*: //;s/[^ -~]*$//')"

# --- Reload
systemctl reload signalbox || fail "a reload fails"
cp -p $config /root/good.yaml
sed -i 's/^version: 1/version: 2/' $config
! systemctl reload signalbox 2>/dev/null || fail "a reload with a fault succeeds"
ok "a reload with a fault fails"
is "the service goes on after it" "$(of ActiveState) $(post)" "active 200"
case $(of StatusText) in *"reload rejected"*bad-version*) ok "its status says why" ;; *) fail "status: $(of StatusText)" ;; esac

# --- A restart with a fault ends, and is not repeated
systemctl restart signalbox.service 2>/dev/null && fail "it starts with a fault"
is "a fault ends the start for good" "$(of ActiveState) $(of ExecMainStatus) $(of NRestarts)" "failed 78 0"
cp -p /root/good.yaml $config
systemctl start signalbox.service

# --- A restart refuses nothing
( while [ ! -e /tmp/stop ]; do post; echo; done ) > /tmp/answers &
poster=$!
for _ in 1 2 3; do systemctl restart signalbox.service; done
touch /tmp/stop; wait $poster
is "three restarts refuse no webhook" "$(sort -u /tmp/answers)" 200
[ "$(wc -l < /tmp/answers)" -ge 3 ] || fail "too few webhooks were sent"

# --- The watchdog
drop_in() { mkdir -p /run/systemd/system/signalbox.service.d; printf '[Service]\n%s\n' "$1" > /run/systemd/system/signalbox.service.d/test.conf; systemctl daemon-reload; }
drop_in WatchdogSec=2s
systemctl restart signalbox.service
sleep 5
is "a gateway that works is left alone" "$(of NRestarts)" 0
kill -STOP "$(of MainPID)"
restarted() { [ "$(of NRestarts)" -ge 1 ] && [ "$(of ActiveState)" = active ]; }
until_so "one that hangs is restarted" restarted
is "and serves" "$(post)" 200

# --- A stop gets the time of gateway.drain
drop_in "$(printf 'TimeoutStopSec=1s\nTimeoutAbortSec=1s')"
sed -i 's/drain: 30s/drain: 4s/' $config
systemctl restart signalbox.service
curl -s -d '{"order":"stall","count":2}' http://127.0.0.1:9000/apns/orders
before=$(arrived apns 1)
is "a webhook whose push is not answered" "$(post)" 200
[ "$(arrived apns $((before + 1)))" -gt "$before" ] || fail "the push did not leave"
systemctl stop signalbox.service 2>/dev/null
is "a stop that takes longer than TimeoutStopSec is no failure" "$(of Result)" success
cp -p /root/good.yaml $config

# --- Credentials that only systemd reads
drop_in LoadCredential=apns.p8:/srv/sim/apns.p8
sed -i 's|secrets/apns.p8|${env:CREDENTIALS_DIRECTORY}/apns.p8|' $config
rm /etc/signalbox/secrets/apns.p8
systemctl restart signalbox.service || fail "LoadCredential= does not work"
before=$(arrived apns 1)
is "with a credential of LoadCredential= a webhook is taken" "$(post)" 200
[ "$(arrived apns $((before + 1)))" -gt "$before" ] || fail "and its push leaves"
drop_in ''
cp -p /root/good.yaml $config
install -o root -g signalbox -m 640 /srv/sim/apns.p8 /etc/signalbox/secrets/
systemctl restart signalbox.service

# --- Backup while it runs, and restore, as docs/operations.md has them
(umask 077; sqlite3 /var/lib/signalbox/signalbox.sqlite "VACUUM INTO '/root/backup.sqlite'")
is "a backup of a running gateway is whole" "$(sqlite3 /root/backup.sqlite 'PRAGMA integrity_check')" ok
systemctl stop signalbox.service 2>/dev/null
mv /var/lib/signalbox /root/old
install -d -o signalbox -g signalbox -m 700 /var/lib/signalbox
install -o signalbox -g signalbox -m 600 /root/backup.sqlite /var/lib/signalbox/signalbox.sqlite
systemctl start signalbox.service
is "the gateway serves from the backup" "$(of ActiveState) $(post)" "active 200"

# --- Upgrade, removal
echo "# mine" >> $config
first=$(of MainPID)
dpkg -i "$deb" >/dev/null 2>&1 || fail "the package cannot be installed again"
is "an upgrade keeps the configuration" "$(tail -n 1 $config)" "# mine"
is "an upgrade replaces the process" "$(of ActiveState) $([ "$(of MainPID)" != "$first" ] && echo new)" "active new"
is "and it serves" "$(post)" 200
dpkg -r signalbox >/dev/null 2>&1 || fail "the package cannot be removed"
is "removal stops the service and leaves configuration and data" \
  "$(pgrep -c '^signalbox$' -u signalbox || true) $(ls $config /var/lib/signalbox/signalbox.sqlite | wc -l)" "0 2"
dpkg -P signalbox >/dev/null 2>&1 || fail "the package cannot be purged"
is "purging leaves neither" "$(ls -d /var/lib/signalbox /etc/signalbox/gateway.yaml 2>/dev/null | wc -l)" 0

# --- The tarball, from a folder that was moved
systemctl stop simulators
tar -C /opt -xzf /package/signalbox-*.tar.gz
mv /opt/signalbox-* /opt/elsewhere
is "the tarball's demo confirms both pushes" \
  "$(runuser -u nobody -- /opt/elsewhere/bin/signalbox demo --config /opt/elsewhere/share/signalbox/gateway.yaml \
    --sample /opt/elsewhere/share/signalbox/reply.json --listen 127.0.0.1:0 --admin 127.0.0.1:0 2>/dev/null | tail -n 1)" \
  "both pushes were confirmed"
