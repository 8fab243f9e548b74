internal import Glibc
internal import SignalboxCore

/// `signalbox init`: a first gateway.yaml, with comments where something is to be decided.
public struct NewConfiguration: Sendable {
    /// What events can come from.
    public static let sources = ["zendesk", "sendbird", "cloudevents", "program"]
    /// What pushes can leave by.
    public static let senders = ["apns", "fcm", "smtp"]

    private let source: String
    private let via: [String]

    /// Checks the arguments.
    public init(source: String, via: [String]) throws(AuthoringFault) {
        try Self.check("source", source, Self.sources)
        guard !via.isEmpty else { throw AuthoringFault(message: "name a sender: --via apns,fcm") }
        for name in via { try Self.check("sender", name, Self.senders) }
        guard Set(via).count == via.count else {
            throw AuthoringFault(
                message: "a sender is named twice: --via \(via.joined(separator: ","))")
        }
        self.source = source
        self.via = via
    }

    private static func check(
        _ what: String, _ given: String, _ known: [String]
    ) throws(AuthoringFault) {
        guard !known.contains(given) else { return }
        throw AuthoringFault(
            message: "unknown \(what) \"\(given)\"\(Suggestion.hint(for: given, among: known)); "
                + "known: \(known.joined(separator: ", "))")
    }

    /// Writes the file; throws if there is one.
    public func write(to path: String) throws(AuthoringFault) {
        guard let file = fopen(path, "wxe") else {
            let reason = errno == EEXIST ? "there is one already" : String(cString: strerror(errno))
            throw AuthoringFault(message: "\(path) was not written: \(reason)")
        }
        let isWritten = fputs(text, file) >= 0
        guard fclose(file) == 0, isWritten else {
            throw AuthoringFault(
                message: "cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }

    /// What it needs besides the file: variables and secret files.
    public var needs: [String] {
        var out: [String] = []
        let lines = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("#") }
        for line in lines {
            for part in line.split(separator: "$").dropFirst() where part.hasPrefix("{") {
                let name = part.dropFirst().prefix { $0 != "}" }
                // One that has a default may be missing.
                if name.contains(":-") { continue }
                let words =
                    name.hasPrefix("env:")
                    ? "the environment variable \(name.dropFirst(4))"
                    : "the file \(name.dropFirst(5))"
                if !out.contains(words) { out.append(words) }
            }
        }
        return out
    }

    private var platforms: [(platform: String, sender: String)] {
        via.map { sender in
            (["apns": "ios", "fcm": "android"][sender] ?? "email", sender)
        }
    }

    /// The file.
    public var text: String {
        let send = platforms.map { "\($0.platform): \($0.sender)" }.joined(separator: ", ")
        let isProgram = source == "program"
        let sources = isProgram ? "\n  sources: [program]           # a program submits events" : ""
        let build =
            isProgram ? "\n    build: { with: texts }     # texts are in the event's data" : ""
        // Zendesk's webhook names phones alone.
        let count = source == "zendesk" ? via.filter { $0 != "smtp" }.count : via.count
        let plugins = ([isProgram ? "texts" : source] + via).map(ConfigurationParts.plugin)
        return """
            # A gateway: events come in from \(source), pushes leave by \(via.joined(separator: ", ")).
            # Look at it with `signalbox graph`; try it with `signalbox test` and `signalbox explain`, which send nothing.
            # docs/configuration.md has every key.
            version: 1

            gateway:
              listen: "127.0.0.1:8080"     # webhooks; put TLS in front
              admin: "127.0.0.1:8081"      # health, metrics and operators; keep it private
              data: ./data                 # what waits, registered devices, dead letters\(sources)

            # ${env:NAME} is an environment variable, ${file:path} a file; its path starts here.
            plugins:
            \(plugins.joined(separator: "\n"))
            # The app's server registers the devices of users at /v1/devices.
            devices:
              clients:
                - { name: app-backend, token: "${env:DEVICES_TOKEN}", app: com.example.app, scopes: [read, write] }

            routes:
              - name: \(source)-to-phones
                from: \(source)
                when: \(ConfigurationParts.condition(source))\(build)
                send: { \(send) }
            \(ConfigurationParts.deliver(source))

            # `signalbox test` runs these without network and secrets.
            tests:
              - name: an event reaches every device
                given:
            \(ConfigurationParts.given(source, platforms.map(\.platform)))
                devices:
            \(ConfigurationParts.devices(platforms.map(\.platform)))
                expect:
                  - { route: \(source)-to-phones, pushes: \(count) }

            """
    }
}
