/// A number that a store gives to the metrics.
public struct StoreFigure: Sendable {
    /// As in docs/metrics.md. A counter ends in `_total`; all others are gauges.
    public let name: String
    /// Names and values of its labels, in their order.
    public let labels: [(name: String, value: String)]
    /// The number now.
    public let value: Int64

    /// Makes a figure.
    public init(_ name: String, _ labels: [(name: String, value: String)] = [], _ value: Int64) {
        self.name = name
        self.labels = labels
        self.value = value
    }
}
