/// A malformed message.
struct WireFault: Error, Sendable, Equatable {
    let what: String

    init(_ what: String) { self.what = what }
}
