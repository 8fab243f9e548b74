public import CSignalbox
import SignalboxPluginKit

/// Accepts {"id": "1", "user": "u", "text": "hello"} from a caller that knows the token, and notifies the user.
final class Instance: IngestPlugin {
    static let info = PluginInfo(
        id: "org.example.@ID@", version: "0.1.0", summary: "takes short messages for users",
        configSchema: """
            {
              "type": "object", "required": ["path", "token"],
              "properties": {
                "path": { "type": "string", "pattern": "^/[!-~]+$" },
                "token": { "type": "string", "format": "secret", "minLength": 16 }
              }
            }
            """)
    private let host: Host
    private let path: String

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        path = config["path"]?.string ?? ""
    }

    var paths: [IngestPath] { [IngestPath(path)] }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        let given = request.header("authorization") ?? ""
        guard given.hasPrefix("Bearer "), try host.secretEquals("token", String(given.dropFirst(7)))
        else { throw PluginError(.auth, "the token is missing or wrong") }
        let body = try host.parse(bodyOf: request)
        guard let user = body["user"]?.string, !user.isEmpty else {
            throw PluginError(.invalid, "\"user\" is missing or no text")
        }
        var event = Event(type: "message.sent", data: body.text)
        // The same message again is no second push.
        event.dedupe = body["id"]?.string ?? ""
        event.recipients = [Recipient(user: user)]
        try sink.emit(event)
    }
}

/// The entry of the library.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { pluginEntry(Instance.self) }
