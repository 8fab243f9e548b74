/// The file itself and `gateway:`.
extension ConfigSection {
    /// The whole file.
    public static let file = ConfigSection(
        "Sections",
        [
            .init("version", "`1`; required", "", .constant(1)),
            .init("gateway", "listeners, data folder, log", "", .section(gateway)),
            .init("plugins", "the instances; required", "", .map(.section(plugin))),
            .init("routes", "which events go where; required", "", .list(.section(route))),
            .init("retry", "retry policies", "", .map(.section(policy))),
            .init("texts", "texts in several languages", "", .map(.map(.scalar))),
            .init("devices", "who may use the device registry", "", .section(devices)),
            .init("outcomes", "who receives delivery results", "", .list(.section(receiver))),
            .init("tests", "examples of expected pushes", "", .list(.section(example))),
        ])

    static let gateway = ConfigSection(
        "gateway",
        [
            .init(
                "name",
                "what this gateway calls itself",
                "host name and port of `listen`", .text),
            .init(
                "listen",
                "address for webhooks, `host:port` or `unix:/path`; `false`: none",
                "`127.0.0.1:8080`", .address),
            .init(
                "admin",
                "address of the admin listener; `false`: none",
                "`127.0.0.1:8081`", .address),
            .init(
                "admin_hosts",
                "names and IP addresses, without port, that admin clients may use",
                "none", .list(.text)),
            .init(
                "admin_token",
                "bearer token of admin clients, at least 16 characters",
                "none", .text),
            .init(
                "data",
                "folder of the database `signalbox.sqlite`, relative to gateway.yaml",
                "`./data`", .text),
            .init(
                "store",
                "a PostgreSQL database instead of `data`, see below",
                "SQLite in `data`", .section(store)),
            .init(
                "drain",
                "how long a shutdown waits for deliveries in memory; the rest stays on disk",
                "`30s`", .duration),
            .init(
                "shutdown_delay",
                "how long a shutdown waits before anything ends, so that load balancers notice it",
                "`0s`", .duration),
            .init(
                "dedupe",
                "how long an event's key is remembered; `0s`: never",
                "`10m`", .duration),
            .init(
                "history",
                "how much of what happened is kept for `signalbox trace`, see below; `false`: nothing",
                "`7d`", .either([.duration, .flag, .section(history)])),
            .init(
                "tracing",
                "where [OpenTelemetry spans](tracing.md) are sent, see below", "none",
                .section(tracing)),
            .init(
                "dead",
                "which [dead letters](people.md#dead-letters) are kept, and for how long, see below",
                "`14d`", .either([.duration, .section(dead)])),
            .init("log", "what is logged, and how", "see below", .section(log)),
            .init("tls", "TLS on `listen` and `devices.listen`", "plain HTTP", .section(tls)),
            .init(
                "sources",
                "names whose events an [embedding program](embedding.md) submits",
                "none", .list(.name)),
            .init(
                "watch",
                "whether a changed file is applied without [a reload](changing.md#reload)",
                "`false`", .flag),
            .init(
                "audit",
                "a file in which [changes](changing.md#audit) are recorded, relative to gateway.yaml",
                "the log", .text),
            .init(
                "limits", "bounds of the listeners and of events, see below", "see below",
                .section(limits)),
        ])

    static let limits = ConfigSection(
        "gateway.limits",
        [
            .init(
                "connections",
                "most connections of clients; more than half of the file descriptors are never used",
                "`10000`", .integer(16, 1_000_000)),
            .init(
                "client_rate",
                "most requests per second of one client address; `0`: any number",
                "`0`", .integer(0, 1_000_000)),
            .init(
                "source_rate",
                "most requests per second for each source, and for the device registry; `0`: any number",
                "`0`", .integer(0, 1_000_000)),
            .init(
                "code_rate",
                "most authorization codes per second of one client address; `0`: any number",
                "`10`", .integer(0, 1_000_000)),
            .init(
                "user_rate",
                "most changes per second of one user of `devices.users`; `0`: any number",
                "`20`", .integer(0, 1_000_000)),
            .init(
                "devices_per_event",
                "most devices of one event, after its users were looked up, one for a user without any",
                "`100000`", .integer(1, 10_000_000)),
        ])

    static let tls = ConfigSection(
        "gateway.tls",
        [
            .init("certificate", "the chain, PEM, as `${file:...}`", "required", .text),
            .init("key", "its private key, PEM", "required", .text),
            .init("client_ca", "roots of client certificates, PEM (mutual TLS)", "none", .text),
        ])

    static let store = ConfigSection(
        "gateway.store",
        [
            .init(
                "postgres",
                "`postgres://USER:PASSWORD@HOST:5432/DATABASE`; required",
                "", .text),
            .init("pooled", "`true` for PgBouncer in transaction mode", "`false`", .flag),
            .init(
                "lease",
                "how long the deliveries of a gateway that died stay its own; from `5s` to `10m`",
                "`20s`", .duration),
        ])

    static let history = ConfigSection(
        "gateway.history",
        [
            .init("keep", "older parts are removed, `1m` to `400d`", "`7d`", .duration),
            .init(
                "megabytes", "the oldest parts are removed above this size", "`1024`",
                .integer(1, 1_048_576)),
        ])

    static let tracing = ConfigSection(
        "gateway.tracing",
        [
            .init(
                "endpoint",
                "URL of an OTLP/HTTP receiver, such as `http://127.0.0.1:4318/v1/traces`",
                "required", .text),
            .init("headers", "header fields of each request to it", "none", .map(.text)),
            .init(
                "sample",
                "of 100 webhooks without a `traceparent`, how many begin a trace", "`100`",
                .integer(0, 100)),
            .init("ca", "PEM file of its roots, relative to gateway.yaml", "the system's", .text),
        ])

    static let dead = ConfigSection(
        "gateway.dead",
        [
            .init("keep", "older ones are removed, `1m` to `400d`", "`14d`", .duration),
            .init(
                "letters", "the oldest are removed above this number", "`100000`",
                .integer(1, 10_000_000)),
            .init(
                "unregistered",
                "whether a delivery whose token is dead is kept, too",
                "`false`", .flag),
        ])

    static let log = ConfigSection(
        "gateway.log",
        [
            .init(
                "level",
                LogLevels.all.map { "`\($0)`" }.joined(separator: ", "),
                "`info`", .word(LogLevels.all)),
            .init("format", "`text`, `json`", "`text`", .word(["text", "json"])),
            .init(
                "users",
                "`plain`: user ids; `hashed`: 12 hexadecimal digits; `none`",
                "`hashed`", .word(["plain", "hashed", "none"])),
        ])
}
