public import SignalboxCore

extension GatewayConfig {
    /// Parses a configuration and reports all its faults at once, in file order.
    ///
    /// A config with faults is returned as far as it could be read, so that a caller can look for more faults.
    public static func load(
        _ path: String, environment: ConfigEnvironment
    ) -> (config: GatewayConfig, diagnostics: [Diagnostic]) {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        var config = GatewayConfig(file: path, folder: folder.isEmpty ? "/" : folder)
        let diagnostics = Diagnostics()
        switch environment.readFile(path) {
        case .failure(let fault):
            let words = fault == .missing ? "there is no such file" : "the file \(fault.words)"
            diagnostics.report("missing-file", at: config.start, words)
        case .success(let bytes):
            config.text = bytes
            let interpolation = Interpolation(
                environment: environment, folder: config.folder, diagnostics: diagnostics)
            if let root = YAMLReader.read(
                bytes, file: path, interpolation: interpolation, diagnostics: diagnostics)
            {
                config.given = root
                config.read(root, diagnostics)
            }
        }
        config.standIns = diagnostics.standIns
        config.blanks = diagnostics.blanks
        config.files = diagnostics.files
        return (config, diagnostics.all.inOrder)
    }

    private mutating func read(_ root: ConfigValue, _ diagnostics: Diagnostics) {
        guard let map = MapReader(root, owner: "the file", .file, diagnostics) else {
            return
        }
        if let version = map["version"] {
            if case .integer(1) = version.kind {
            } else {
                map.report("bad-version", at: version, "version must be 1")
            }
        } else {
            map.report("missing-key", at: nil, "version is required; write version: 1")
        }
        if let section = map["gateway"] { readGateway(section, diagnostics) }
        if let section = map["plugins"] {
            readPlugins(section, diagnostics)
        } else {
            map.report("missing-key", at: nil, "plugins is required")
        }
        readDevices(map, diagnostics)
        texts = map["texts"]?.json.text ?? ""
        let policies = RetryReader.read(map["retry"], diagnostics)
        for name in gateway.sources where plugins.contains(where: { $0.name == name }) {
            map.report(
                "duplicate-name", at: map["gateway"],
                "\"\(name)\" is both a plugin and in gateway.sources; a source needs its own name"
            )
        }
        if let section = map["routes"] {
            var reader = RouteReader(
                plugins: plugins.map(\.name), sources: gateway.sources, policies: policies,
                texts: TextsReader.read(map["texts"], diagnostics), diagnostics: diagnostics)
            routes = reader.read(section)
        } else {
            map.report("missing-key", at: nil, "routes is required")
        }
        readOutcomes(map, diagnostics)
        if let section = map["tests"] {
            let reader = TestsReader(
                plugins: plugins.map(\.name), sources: gateway.sources,
                routes: routes.map(\.route), diagnostics: diagnostics)
            tests = reader.read(section)
        }
    }

    private mutating func readDevices(_ map: MapReader, _ diagnostics: Diagnostics) {
        (deviceClients, deviceUsers, deviceListeners, deviceReports) = DevicesReader.read(
            map["devices"], plugins: plugins.map(\.name), diagnostics)
        if let listen = map["devices"]?["listen"] {
            let text = listen.string ?? ""
            gateway.devicesListen = ListenAddress(text)
            if gateway.devicesListen == nil {
                map.report(
                    "bad-address", at: listen,
                    "devices: listen must be host:port, such as 127.0.0.1:8082 or [::1]:8082")
            }
        }
        if let own = gateway.devicesListen, own.port != 0,
            [gateway.listen, gateway.admin].contains(own)
        {
            map.report(
                "bad-value", at: map["devices"]?["listen"],
                "devices.listen needs an address of its own")
        }
        for index in deviceUsers.indices where !deviceUsers[index].caFile.isEmpty {
            deviceUsers[index].caFile = path(deviceUsers[index].caFile)
        }
    }

    private mutating func readOutcomes(_ map: MapReader, _ diagnostics: Diagnostics) {
        let outcomes = OutcomesReader(
            routes: routes.map(\.route.name), diagnostics: diagnostics)
        outcomeReceivers = outcomes.read(map["outcomes"])
        for index in outcomeReceivers.indices {
            guard case .web(let url, let secret, let file?) = outcomeReceivers[index].target else {
                continue
            }
            outcomeReceivers[index].target = .web(url: url, secret: secret, caFile: path(file))
        }
        for index in routes.indices {
            let name = routes[index].route.name
            routes[index].route.marksOpens = outcomeReceivers.contains {
                $0.wish.takes(.opened, route: name)
            }
        }
    }

    private mutating func readGateway(_ value: ConfigValue, _ diagnostics: Diagnostics) {
        guard let map = MapReader(value, owner: "gateway", .gateway, diagnostics)
        else { return }
        readAddresses(map)
        gateway.adminPosition = map["admin"]?.position ?? value.position
        if let value = map["admin_hosts"] { readAdminHosts(value, map) }
        if let token = map.text("admin_token") {
            gateway.adminToken = token.text
            if token.text.utf8.count < 16 {
                map.report(
                    "bad-value", at: token.value, "admin_token must have at least 16 characters")
            }
        }
        if let value = map["tls"] { readTLS(value, diagnostics) }
        if let (text, value) = map.text("name") {
            gateway.name = text
            if !Names.isGatewayName(text) {
                map.report(
                    "bad-value", at: value,
                    "name must have 1 to 64 letters, digits, dots, colons, hyphens or underscores")
            }
        }
        if let value = map["sources"] { readSources(value, map) }
        if let (text, value) = map.text("data", required: map["data"] != nil) {
            gateway.dataFolder = text
            if text.contains("://") {
                map.report(
                    "bad-value", at: value,
                    "data must be a folder; the address of a database goes into gateway.store.postgres"
                )
            }
        }
        if let value = map["store"] { gateway.store = PostgresSettings.read(value, diagnostics) }
        gateway.auditFile = map.text("audit", required: map["audit"] != nil)?.text
        if let value = map["limits"] { readLimits(value, diagnostics) }
        if let value = map["watch"] {
            if case .bool(let flag) = value.kind {
                gateway.watch = flag
            } else {
                map.report("wrong-type", at: value, "watch must be true or false")
            }
        }
        if let ms = map.duration("drain", in: 0...600_000) { gateway.drainMs = ms }
        if let ms = map.duration("shutdown_delay", in: 0...600_000) { gateway.shutdownDelayMs = ms }
        if let ms = map.duration("dedupe", in: 0...GatewaySettings.dedupeMsMax) {
            gateway.dedupeMs = ms
        }
        gateway.history = HistorySettings.read(map, diagnostics)
        if let value = map["tracing"] {
            var tracing = TracingSettings.read(value, diagnostics)
            if let file = tracing?.caFile { tracing?.caFile = path(file) }
            gateway.tracing = tracing
        }
        gateway.dead = DeadSettings.read(map, diagnostics)
        if let value = map["log"] { readLog(value, diagnostics) }
    }

    private mutating func readAddresses(_ map: MapReader) {
        if let listen = map["listen"], case .bool(false) = listen.kind {
            gateway.listen = nil
        } else if let address = address("listen", map) {
            gateway.listen = address
        }
        if let admin = map["admin"], case .bool(false) = admin.kind {
            gateway.admin = nil
        } else if let address = address("admin", map) {
            gateway.admin = address
        }
        if let admin = gateway.admin, admin.port != 0 || admin.path != nil,
            admin == gateway.listen
        {
            map.report("bad-value", at: map["admin"], "listen and admin are the same address")
        }
    }

    private mutating func readTLS(_ value: ConfigValue, _ diagnostics: Diagnostics) {
        guard let tls = MapReader(value, owner: "gateway.tls", .tls, diagnostics),
            let certificate = tls.text("certificate", required: true),
            let key = tls.text("key", required: true)
        else { return }
        gateway.tls = TLSSettings(
            certificate: Array(certificate.text.utf8), key: Array(key.text.utf8),
            clientRoots: tls.text("client_ca").map { Array($0.text.utf8) },
            position: value.position)
    }

    private mutating func readLog(_ value: ConfigValue, _ diagnostics: Diagnostics) {
        guard let map = MapReader(value, owner: "gateway.log", .log, diagnostics) else { return }
        if let word = map.word("level", of: LogLevels.all) { gateway.logLevel = word }
        if let word = map.word("format", of: ["text", "json"]) { gateway.logFormat = word }
        if let word = map.word("users", of: ["plain", "hashed", "none"]) {
            gateway.logUsers = word
        }
    }

    private mutating func readLimits(_ value: ConfigValue, _ diagnostics: Diagnostics) {
        guard let map = MapReader(value, owner: "gateway.limits", .limits, diagnostics)
        else { return }
        gateway.limits.connections = map.integer("connections", in: 16...1_000_000).map { Int($0) }
        if let rate = map.integer("client_rate", in: 0...1_000_000) {
            gateway.limits.clientRate = Int(rate)
        }
        if let rate = map.integer("source_rate", in: 0...1_000_000) {
            gateway.limits.sourceRate = Int(rate)
        }
        if let rate = map.integer("code_rate", in: 0...1_000_000) {
            gateway.limits.codeRate = Int(rate)
        }
        if let rate = map.integer("user_rate", in: 0...1_000_000) {
            gateway.limits.userRate = Int(rate)
        }
        if let count = map.integer("devices_per_event", in: 1...10_000_000) {
            gateway.limits.devicesPerEvent = Int(count)
        }
    }

    private mutating func readAdminHosts(_ value: ConfigValue, _ map: MapReader) {
        guard case .list(let items) = value.kind else {
            map.report("wrong-type", at: value, "admin_hosts must be a list of names or addresses")
            return
        }
        for item in items {
            let host = item.string ?? ""
            let isName = !host.isEmpty && !host.contains { ":/ []".contains($0) }
            guard isName || ListenAddress.bytes(of: host) != nil else {
                map.report(
                    "bad-value", at: item,
                    "admin_hosts holds names or IP addresses without a port, such as "
                        + "signalbox.internal or 10.0.0.5")
                continue
            }
            gateway.adminHosts.append(host)
        }
    }

    private mutating func readSources(_ value: ConfigValue, _ map: MapReader) {
        guard case .list(let items) = value.kind else {
            map.report("wrong-type", at: value, "sources must be a list of names")
            return
        }
        for item in items {
            guard case .string(let name) = item.kind, Names.isName(name) else {
                map.report(
                    "bad-name", at: item, "a name has letters, digits, - and _, at most 64")
                continue
            }
            gateway.sources.append(name)
        }
    }

    private func address(_ key: String, _ map: MapReader) -> ListenAddress? {
        guard let value = map[key] else { return nil }
        if let address = value.string.flatMap({ ListenAddress($0) }) { return address }
        let advice = value.isSecret ? nil : ListenAddress.advice(value)
        map.report(
            "bad-address", at: value,
            "\(key) must be host:port, such as 127.0.0.1:8080 or [::1]:8080, unix:/path, or false"
                + (advice.map { "; \($0)" } ?? ""))
        return nil
    }

    private func digest(_ map: MapReader) -> String? {
        guard let (text, value) = map.text("sha256") else { return nil }
        let isHex = text.utf8.count == 64 && text.allSatisfy { $0.isASCII && $0.isHexDigit }
        guard isHex else {
            map.report(
                "bad-value", at: value,
                "sha256 must have 64 hexadecimal digits, as `signalbox plugins inspect` shows them")
            return nil
        }
        return text
    }

    private mutating func readPlugins(_ value: ConfigValue, _ diagnostics: Diagnostics) {
        guard case .map(let entries) = value.kind, !entries.isEmpty else {
            diagnostics.report(
                "wrong-type", at: value.position,
                "plugins must be a map of names, each with a library")
            return
        }
        for entry in entries {
            let owner = "plugin \"\(entry.key)\""
            if !Names.isName(entry.key) {
                diagnostics.report(
                    "bad-name", at: entry.keyPosition,
                    "\(owner): a name has letters, digits, - and _, at most 64")
            }
            guard
                let map = MapReader(entry.value, owner: owner, .plugin, diagnostics)
            else { continue }
            // A plugin with an unusable library is listed all the same, since routes may name it.
            let library = map.text("library", required: true)
            let proxy = map.text("proxy")
            plugins.append(
                PluginSettings(
                    name: entry.key, position: entry.keyPosition, library: library?.text ?? "",
                    isLibrarySecret: library?.value.isSecret == true,
                    libraryPosition: library?.value.position ?? entry.keyPosition,
                    sha256: digest(map),
                    isolation: map.word("isolation", of: Isolation.allCases.map(\.rawValue))
                        .flatMap { Isolation(rawValue: $0) } ?? .none,
                    isolationPosition: map["isolation"]?.position ?? entry.keyPosition,
                    dedupeMs: map.duration("dedupe", in: 0...GatewaySettings.dedupeMsMax),
                    proxy: proxy?.text, proxyPosition: proxy?.value.position ?? entry.keyPosition,
                    config: map["config"]))
        }
    }
}
