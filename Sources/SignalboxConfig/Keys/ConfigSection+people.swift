internal import SignalboxCore

/// `devices:`, `outcomes:` and `tests:`.
extension ConfigSection {
    static let devices = ConfigSection(
        "devices",
        [
            .init(
                "listen",
                "an address for this API alone, `host:port`: then `listen` of the gateway does not serve it",
                "the gateway's `listen`", .address),
            .init("clients", "servers that use the API", "none", .list(.section(client))),
            .init(
                "users",
                "where users' tokens come from, for users who register their own devices",
                "none", .list(.section(users))),
            .init(
                "report",
                #"app to plugins that are told when a device is added, removed or dead; `"*"` is every app"#,
                "none", .map(.list(.name))),
        ])

    static let client = ConfigSection(
        "devices.clients",
        [
            .init("name", "appears in the log", "required", .text),
            .init(
                "token",
                "bearer token, at least 16 characters; it selects the client",
                "required", .text),
            .init("app", "the only app whose devices this client sees", "required", .text),
            .init(
                "scopes",
                "`read`, `write` (includes `opens`), `presence`, `badge`, `opens`",
                "required", .list(.word(["read", "write", "presence", "badge", "opens"]))),
        ])

    static let users = ConfigSection(
        "devices.users",
        [
            .init("name", "name in the log; app of the devices", "required", .text),
            .init("app", "name in the log; app of the devices", "required", .text),
            .init("issuer", "the `iss` that a token must have", "required", .text),
            .init(
                "audience",
                "the `aud` that a token must have; `any`: tokens for other clients, too",
                "required", .text),
            .init(
                "keys",
                "public keys, PEM or JWKS, as `${file:...}`",
                "`keys` or `jwks_url`", .text),
            .init("jwks_url", "where to fetch JWKS", "`keys` or `jwks_url`", .text),
            .init("ca", "PEM file of trusted roots for these URLs", "the system's", .text),
            .init("leeway", "tolerated clock difference, up to `10m`", "`60s`", .duration),
            .init("code", "authorization code flow", "none", .section(code)),
            .init(
                "one_device", "a registration removes the user's other devices", "`false`",
                .flag),
        ])

    static let code = ConfigSection(
        "devices.users.code",
        [
            .init("token_url", "where the code is exchanged", "required", .text),
            .init("client_id", "the gateway's id at the login", "required", .text),
            .init("client_secret", "its secret", "none", .text),
        ])

    static let receiver = ConfigSection(
        "outcomes",
        [
            .init(
                "name",
                "appears in logs and metrics; names the receiver's position in the stream",
                "required", .name),
            .init(
                "url",
                "https, or http on this machine; redirects are not followed",
                "required without `plugin`", .text),
            .init(
                "secret", "signs each request; at least 16 characters",
                "required without `plugin`", .text),
            .init(
                "plugin", "an instance with the role `observe`, which gets them in place of `url`",
                "none", .name),
            .init("routes", "routes whose deliveries are reported", "all", .list(.name)),
            .init(
                "results",
                "names of [outcomes.md](outcomes.md#what-a-receiver-gets)",
                "all but `retried` and those of devices",
                .list(.word(OutcomeResult.allCases.map(\.name)))),
            .init(
                "ca",
                "PEM file of trusted roots, relative to gateway.yaml",
                "the system's", .text),
        ])

    static let example = ConfigSection(
        "tests",
        [
            .init("name", "what the example shows", "required", .text),
            .init("given", "the input", "required", .section(given)),
            .init(
                "devices",
                "the registry's devices: maps of `user`, `platform`, `token`, `app`, `locale`, `attributes`",
                "an invented one per platform for each user", .list(.map(.anything))),
            .init(
                "answers",
                "what plugins' own calls are answered: a list of `url` (its beginning), `status`, `headers`, `body`",
                "a token, for every call", .list(.map(.anything))),
            .init(
                "now", "the time, with its offset: `2026-01-02T23:30:00+01:00`",
                "2026-01-01 12:00 UTC", .text),
            .init(
                "expect", "what should come of it; an empty list: no push", "required",
                .list(.section(expected))),
        ])
    static let given = ConfigSection(
        "tests.given",
        [
            .init("plugin", "the instance that gets a webhook", "", .name),
            .init("method", "the webhook's method", "`POST`", .text),
            .init("path", "the webhook's path", "the plugin's first one", .text),
            .init("query", "what follows the `?`", "none", .text),
            .init(
                "headers", "the webhook's headers; any signature is valid", "none", .map(.scalar)),
            .init("body", "the body: text as it is, a map as JSON", "empty", .anything),
            .init("body_file", "a file with the body, relative to gateway.yaml", "", .text),
            .init("source", "instead of a webhook: where the event is from", "", .name),
            .init(
                "event", "the event, with the names of [embedding.md](embedding.md)", "",
                .map(.anything)),
        ])
    static let expected = ConfigSection(
        "tests.expect",
        [
            .init("route", "only pushes of this route", "any", .name),
            .init("send", "only pushes by this sender", "any", .name),
            .init("platform", "only pushes to this platform", "any", .text),
            .init("user", "only pushes to this user", "any", .text),
            .init("pushes", "how many there are", "at least one", .integer(0, 1_000_000)),
            .init(
                "payload",
                "members that a body has; the others are not compared, and null stands for a missing one",
                "", .map(.anything)),
            .init(
                "payload_file",
                "a golden file with the whole body; `signalbox test --update` writes it", "", .text),
            .init("headers", "header fields that the request has", "none", .map(.scalar)),
            .init(
                "not_before",
                "until when a filter has it wait, with its offset; `now`: it is sent at once",
                "", .text),
            .init(
                "skipped",
                "why the user is left out: `unknown_user`, `no_sender`, or a reason of the builder",
                "",
                .text),
            .init("status", "what the webhook is answered", "", .integer(100, 599)),
        ])
}

/// Maps that docs/configuration.md describes in the row of their key.
extension ConfigSection {
    static let appText = ConfigSection(
        "routes.build.set.title",
        [
            .init("loc_key", "key of the text in the app's resources", "required", .scalar),
            .init("loc_args", "arguments of its placeholders", "none", .list(.scalar)),
            .init("text", "for senders without such texts", "the builder's text", .scalar),
        ])
}
