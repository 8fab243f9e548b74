//! Asks the host for everything it offers: each path under `/probe/` is one question.
#![forbid(unsafe_code)]
#![allow(non_snake_case)]

use signalbox_plugin::*;

struct Probe {
    host: Host,
}

impl Plugin for Probe {
    const INFO: Info = Info::new("org.example.probe", "0.1.0", "asks for everything");

    fn create(host: Host, _: Json<'_>) -> Result<Probe> {
        Ok(Probe { host })
    }

    fn start(&self) -> Result<()> {
        let host = self.host.clone();
        self.host.watch("key", move || host.counter("key_changes_total", &[]).add(1))?;
        self.host.define_credential("token", 1)
    }

    fn refresh(&self, name: &str) -> Result<Credential> {
        let call =
            HttpCall { method: "POST", url: "https://login.example/token", ..HttpCall::default() };
        let value = self.host.http_wait(&call, |answer| {
            let json = answer.json()?;
            let token = json.string_at("/access_token");
            token.map(str::to_string).ok_or_else(|| Error::auth("there is no token"))
        })?;
        let now = self.host.now_unix_ms();
        let value = format!("{name} {value}");
        Ok(Credential { value, refresh_unix_ms: now + 60_000, expires_unix_ms: now + 120_000 })
    }
}

impl Ingest for Probe {
    fn paths(&self) -> Vec<IngestPath> {
        vec![IngestPath::new("/probe/{what}").methods("GET,POST")]
    }

    fn handle(&self, request: &Request<'_>, sink: IngestSink<'_>) -> Result<()> {
        let what = request.param("what").unwrap_or("");
        match what {
            "value" | "edit" | "http" | "registry" | "timer" | "late" => return self.later(what, sink),
            "forget" => return sink.defer(60_000).map(drop),
            "panic" => panic!("{}", String::from_utf8_lossy(request.body())),
            _ => {}
        }
        let answer = self.now(what, request)?;
        sink.respond(200, &[], answer.as_bytes())
    }
}

impl Probe {
    /// Questions that are answered at once.
    fn now(&self, what: &str, request: &Request<'_>) -> Result<String> {
        let host = &self.host;
        Ok(match what {
            "names" => format!("{} {}", host.instance_name(), host.version()),
            "log" => {
                host.log(Level::Warn, "a line", &[Pair::new("a", "1"), Pair::new("b", "2")]);
                host.counter("seen_total", &[Pair::new("kind", "x")]).add(2);
                host.gauge("height", &[]).set(-5);
                String::new()
            }
            "clock" => {
                let offsets = ["Europe/Vienna", "Moon/Crater"].map(|zone| host.utc_offset(zone, 0));
                format!("{} {offsets:?}", host.now_unix_ms())
            }
            "sign" => {
                let made = host.sign(Algorithm::HmacSha256, "key", request.body())?;
                let fits =
                    |bytes: &[u8]| host.verify(Algorithm::HmacSha256, "key", request.body(), bytes);
                let none = host.sign(Algorithm::Es256, Key::at("key", "/a"), b"");
                let status = none.map_err(|fault| fault.status);
                format!("{} {} {} {status:?}", hex_encode(&made), fits(&made)?, fits(b"x")?)
            }
            "crypto" => {
                let key = CryptoKey::secret("key");
                let same = host.hmac(Hash::Sha256, &key, b"x")?
                    == host.sign(Algorithm::HmacSha256, "key", b"x")?;
                let (salt, nonce) = (host.random(16)?, [7; 12]);
                let (point, _) = host.agree(&P256_BASE, None)?;
                let (own, shared) = host.agree(&point, Some(&CryptoKey::bytes(&[9; 32])))?;
                let derived =
                    host.hkdf(Hash::Sha256, &CryptoKey::bytes(&shared), &salt, b"i", 16)?;
                let derived = CryptoKey::bytes(&derived);
                let sealed = host.seal(request.body(), &derived, &nonce, b"a")?;
                let opened = host.open(&sealed, &derived, &nonce, b"a")?;
                let forged =
                    host.open(&sealed, &derived, &nonce, b"b").map_err(|fault| fault.status);
                let half = host.public_key(PublicKeyForm::Raw, "key").map_err(|fault| fault.status);
                format!(
                    "{same} {} {} {} {} {forged:?} {half:?}",
                    own.len(),
                    sealed.len(),
                    opened == request.body(),
                    hex_encode(&host.digest(Hash::Md5, b"abc")?)
                )
            }
            "secret" => host.secret("key")?.equals(request.body()).to_string(),
            "json" => walk(request.json()?),
            "credential" => host.credential("token")?,
            "certificate" => {
                let found = host.certificate("certificate", "")?;
                format!("{} {}", found.subject, found.not_after_unix_s > found.not_before_unix_s)
            }
            _ => return Err(Error::not_found("there is no such question")),
        })
    }

    /// Questions that are answered later, by closures that own the open request.
    fn later(&self, what: &str, sink: IngestSink<'_>) -> Result<()> {
        let open = sink.defer(60_000)?;
        let host = self.host.clone();
        match what {
            "value" => self.host.set_value("k", b"v1", 0, move |kept| {
                let again = host.clone();
                host.value("k", move |found| {
                    let text =
                        format!("{kept:?} {:?}", found.map(|value| value.map(<[u8]>::to_vec)));
                    let last = again.clone();
                    again.remove_value("k", move |_| {
                        last.value("k", move |found| end(open, &format!("{text} {found:?}")));
                    });
                });
            }),
            "edit" => self.host.add_to_value("n", 7, 0, move |sum| {
                let again = host.clone();
                host.replace_value("n", None, Some(b"x"), 0, move |other| {
                    let text = format!("{sum:?} {other:?}");
                    let last = again.clone();
                    again.replace_value("n", Some(b"7"), Some(b"x"), 0, move |done| {
                        let text = format!("{text} {done:?}");
                        let end_of = last.clone();
                        last.add_to_value("n", 1, 0, move |fault| {
                            let text = format!("{text} {:?}", fault.map_err(|one| one.status));
                            end_of.keys("", "", 9, move |keys| end(open, &format!("{text} {keys:?}")));
                        });
                    });
                });
            }),
            "http" => {
                let headers = [Pair::new("x-a", "1")];
                let call = HttpCall {
                    method: "PUT",
                    url: "https://api.example/x",
                    headers: &headers,
                    body: b"body",
                    timeout_ms: 1_000,
                    refuses_private_addresses: true,
                    ..HttpCall::default()
                };
                self.host.http(&call, move |answer| match answer {
                    Ok(answer) => {
                        let json = answer.json().ok();
                        let field = json.and_then(|json| json.at("/a")).map(|json| json.text());
                        let header = answer.header("x-b");
                        end(open, &format!("{} {header:?} {field:?}", answer.status()));
                    }
                    Err(fault) => end(open, &format!("{:?}", fault.status)),
                });
            }
            "registry" => {
                let pairs = [Pair::new("muted", "true")];
                let device = Device {
                    app: "app",
                    platform: "ios",
                    token: "t1",
                    user: "u",
                    attributes: &pairs,
                    ..Device::default()
                };
                self.host.change(&Change::new(ChangeKind::Registered, device), move |kept| {
                    let again = host.clone();
                    host.devices("app", "u", move |found| {
                        let found: Vec<String> = found.map_or(vec![], |devices| {
                            devices
                                .iter()
                                .map(|one| format!("{} {:?}", one.token, one.attribute("muted")))
                                .collect()
                        });
                        again.device("app", "none", move |none| {
                            end(
                                open,
                                &format!(
                                    "{kept:?} {found:?} {}",
                                    none.map_or(false, |none| none.is_none())
                                ),
                            );
                        });
                    });
                });
            }
            "timer" => {
                let cancelled = self.host.after(60_000, || ());
                self.host.after(1, move || {
                    cancelled.map(Timer::cancel);
                    end(open, "rang");
                });
            }
            // The closure owns the open request, and drops it.
            _ => drop(self.host.after(1, move || {
                let _open = open;
                panic!("too late");
            })),
        }
        Ok(())
    }
}

fn end(open: Deferred, text: &str) {
    let answered = open.respond(200, &[], text.as_bytes());
    open.finish(answered);
}

/// Reads every kind of value in every way.
fn walk(json: Json<'_>) -> String {
    let mut out = format!("{:?} of {}:", json.kind(), json.len());
    for (name, value) in json.members() {
        out += &format!(" {name}={:?}/{}", value.kind(), value.text());
    }
    let list: Vec<Option<i64>> = json
        .get("list")
        .into_iter()
        .flat_map(|list| list.elements())
        .map(|one| one.integer())
        .collect();
    let (slash, flag) = (json.get("a/b~c"), json.at("/flag"));
    out += &format!(
        " {list:?} {:?} {:?}",
        slash.and_then(|one| one.string()),
        flag.and_then(|one| one.boolean())
    );
    out + &format!(" {}", json.at("/none").is_none() && json.elements().next().is_none())
}

/// The base point of P-256.
const P256_BASE: [u8; 65] = [
    0x04, 0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40,
    0xf2, 0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2,
    0x96, 0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e,
    0x16, 0x2b, 0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51,
    0xf5,
];

signalbox_plugin::plugin!(Probe: Ingest);
