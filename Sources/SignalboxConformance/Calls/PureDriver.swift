internal import SignalboxCore

/// What a role made of one event that is a pure function: build or filter.
struct PureAnswer<Made: Sendable>: Sendable {
    var result: CallResult
    var made: Made
    var refusals: [String]
    /// The services that were called.
    var services: Set<String>
    /// `made` in words.
    var words: String
    /// Why recipients were left out.
    var reasons: [String]

    /// Equal fingerprints mean equal outputs.
    var fingerprint: String { "\(result.status) \(result.words) \(words)" }
}

/// Calls such a role.
protocol PureDriver: Sendable {
    /// What it makes.
    associatedtype Made: Sendable
    /// `build()`.
    static var name: String { get }
    var subject: Subject { get }
    func run(_ event: Event, _ recipients: [Recipient], shape: Shape) -> PureAnswer<Made>
}

extension PureDriver {
    func run(_ event: Event, _ recipients: [Recipient]) -> PureAnswer<Made> {
        run(event, recipients, shape: .plain)
    }
}
