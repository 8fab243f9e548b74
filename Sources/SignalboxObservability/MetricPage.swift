/// Metrics in Prometheus' text format, version 0.0.4.
public struct MetricPage: Sendable {
    /// What was written.
    public private(set) var text = ""

    /// An empty page.
    public init() {}

    mutating func begin(_ about: MetricAbout) {
        text += "# HELP \(about.name) \(LabelText.escaped(about.help, quotes: false))\n"
        text += "# TYPE \(about.name) \(about.kind.rawValue)\n"
    }

    /// Writes the series of a metric in order of their labels, each with `sample`.
    mutating func write<Series>(
        _ about: MetricAbout, _ rows: [(labels: LabelValues, series: Series)],
        _ sample: (inout MetricPage, String, Series) -> Void
    ) {
        guard !rows.isEmpty else { return }
        begin(about)
        let shown = rows.map { (labels: Self.text(about.labels, $0.labels), series: $0.series) }
        for row in shown.sorted(by: { $0.labels < $1.labels }) {
            sample(&self, row.labels, row.series)
        }
    }

    mutating func sample(_ name: String, _ labels: String, _ value: Double) {
        text += name
        if !labels.isEmpty {
            text += "{"
            text += labels
            text += "}"
        }
        text += " \(Self.number(value))\n"
    }

    private static func text(_ names: [String], _ values: LabelValues) -> String {
        names.enumerated().map { index, name in
            "\(name)=\"\(LabelText.escaped(values[index]))\""
        }.joined(separator: ",")
    }

    /// Whole numbers without a fraction.
    static func number(_ value: Double) -> String {
        value == value.rounded() && value.magnitude < 0x1p53 ? "\(Int64(value))" : "\(value)"
    }
}
