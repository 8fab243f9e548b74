/// Identifies a user of an app; two are equal if their bytes are.
public struct UserKey: Sendable, Hashable {
    /// Bundle id or project.
    public var app: String
    /// The source's id of the user.
    public var user: String

    /// Makes a key.
    public init(app: String, user: String) {
        self.app = app
        self.user = user
    }

    /// Whether both are the same user.
    public static func == (one: UserKey, other: UserKey) -> Bool {
        one.user.hasSameBytes(as: other.user) && one.app.hasSameBytes(as: other.app)
    }

    /// Hashes the bytes of both.
    public func hash(into hasher: inout Hasher) {
        ExactText(app).hash(into: &hasher)
        ExactText(user).hash(into: &hasher)
    }
}
