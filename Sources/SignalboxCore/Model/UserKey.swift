/// Identifies a user of an app.
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
}
