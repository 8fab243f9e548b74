/// `plugins:`, `routes:` and `retry:`.
extension ConfigSection {
    static let plugin = ConfigSection(
        "plugins",
        [
            .init("library", "name or path of the shared library", "required", .text),
            .init(
                "sha256", "the SHA-256 that the library's file must have, in hexadecimal", "any",
                .text),
            .init(
                "isolation",
                "where its code runs: `none`, `process` or `sandbox`, see below",
                "`none`", .word(["none", "process", "sandbox"])),
            .init(
                "dedupe",
                "how long event keys of this instance are remembered, up to `7d`; `0s`: never",
                "see below", .duration),
            .init(
                "proxy",
                "HTTP proxy of its connections, `http://user:password@host:port` ([below](#proxies))",
                "the environment's", .text),
            .init("config", "what the plugin's schema asks for", "empty", .anything),
        ])

    static let route = ConfigSection(
        "routes",
        [
            .init(
                "name",
                "letters, digits, `-`, `_`; appears in logs and metrics",
                "required", .name),
            .init(
                "from",
                "the plugin, or a list of plugins, whose events it takes",
                "required", .either([.name, .list(.name)])),
            .init("when", "condition on the event", "every event", .map(.anything)),
            .init(
                "filter",
                "plugins that the events pass before they are built, in their order ([below](#filters))",
                "none", .list(.either([.name, .section(filter)]))),
            .init(
                "build",
                "how the notification is made",
                "the plugin in `from` builds", .section(build)),
            .init(
                "send",
                "platform to plugin: `{ ios: apns, android: fcm }`",
                "required", .map(.name)),
            .init(
                "deliver",
                "retry, expiry, priority, collapse key",
                "see below", .section(deliver)),
        ])

    static let filter = ConfigSection(
        "routes.filter",
        [
            .init("with", "the plugin that filters", "required", .name),
            .init("options", "what that plugin's options schema asks for", "none", .anything),
        ])

    static let build = ConfigSection(
        "routes.build",
        [
            .init("with", "the plugin that builds", "the plugin in `from`", .name),
            .init("options", "what that plugin's options schema asks for", "none", .anything),
            .init("set", "fields that replace what was built", "none", .section(set)),
            .init(
                "overrides",
                "JSON merged into the payload at the end, by sender family",
                "none", .map(.map(.anything))),
        ])

    static let set = ConfigSection(
        "routes.build.set",
        [
            .init(
                "title",
                "texts, or names of texts in the app",
                "", .either([.scalar, .section(appText)])),
            .init(
                "subtitle",
                "texts, or names of texts in the app",
                "", .either([.scalar, .section(appText)])),
            .init(
                "body",
                "texts, or names of texts in the app",
                "", .either([.scalar, .section(appText)])),
            .init("sound", "as the provider defines them", "", .scalar),
            .init("badge", "a number, or [`count`](#badge-counters)", "", .scalar),
            .init("thread", "as the provider defines them", "", .scalar),
            .init("category", "as the provider defines them", "", .scalar),
            .init("collapse", "collapse key; `deliver.collapse` is the usual place", "", .scalar),
            .init("image", "as the provider defines them", "", .scalar),
            .init(
                "link",
                #"a link, or a map by platform: `{ ios: "https://...", android: "app://..." }`"#,
                "", .either([.scalar, .map(.scalar)])),
            .init("push_type", "as the provider defines them", "", .scalar),
            .init(
                "withdraw",
                "`true`: removes the shown notification instead ([withdraw.md](withdraw.md))",
                "", .scalar),
            .init("data", "a map of texts for the app", "", .map(.scalar)),
        ])

    static let deliver = ConfigSection(
        "routes.deliver",
        [
            .init("retry", "name of a retry policy", "`standard`", .name),
            .init(
                "expires",
                "when a push becomes worthless, counted from the webhook; `1s` to `30d`",
                "`24h`", .duration),
            .init(
                "priority",
                "`high`, `normal`, `low`, if the builder sets none",
                "`normal`", .word(["high", "normal", "low"])),
            .init(
                "collapse",
                "template; a newer notification with the same text replaces the shown one",
                "none", .scalar),
        ])

    static let policy = ConfigSection(
        "retry",
        [
            .init("initial", "wait before the second attempt", "`1s`", .duration),
            .init(
                "factor",
                "each wait is the previous one times this, 1 to 100",
                "2", .number(1, 100)),
            .init("max", "longest wait", "`16s`", .duration),
            .init("retries", "attempts after the first, 0 to 100", "5", .integer(0, 100)),
            .init("jitter", "random share of a wait, 0 to 1", "0", .number(0, 1)),
        ])
}
