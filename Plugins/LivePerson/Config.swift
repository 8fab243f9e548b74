import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    /// The body as it came, and what every event has.
    private static let fields = """
        [
          "*", "lp.backendService", "lp.conversationId", "lp.dialogId", "lp.originatorId",
          "lp.brandId", "lp.sequence", "lp.id", "lp.badge", "lp.message"
        ]
        """
    static let schema = Keys.schema(
        """
        "emits": {
          "message.received": \(Self.fields), "proactive.received": \(Self.fields), "c2m.received": \(Self.fields)
        }
        """
    ) { try Config($0) }

    let path: String
    let caller: CallerCheck
    let certificates: Set<String>
    let brandID: String
    let app: String
    let needsRegistration: Bool
    let sound: String

    init(_ keys: Keys) throws(PluginError) {
        path = keys.webhookPath("the path of the push proxy, such as /in/liveperson")
        caller = try keys.caller()
        certificates = Set(
            keys.texts(
                "client_certificates", count: ...16, bytes: 3...512,
                "subjects (CN=...) that mutual TLS may show; needs gateway.tls.client_ca"))
        brandID = keys.text(
            "brand_id", bytes: ...64, default: "",
            "the account; pushes of others are refused. Empty: any")
        app = keys.app("app of the registry and of the senders; empty: their default")
        let registration = keys.choice(
            "registration", ["ignored", "required"],
            "required: only tokens of the registry get pushes, others are answered 403")
        needsRegistration = registration == "required"
        sound = keys.text("sound", bytes: ...128, default: "default")
        guard !caller.isOpen || !certificates.isEmpty else {
            throw PluginError(
                .invalid,
                "give user with password, client_certificates or headers: bodies bear no "
                    + "signature, so anybody could push")
        }
    }
}
