/// All series of one metric: what operators know by one name.
///
/// Thread: any.
public protocol MetricFamily: Sendable {
    /// What is the same for all of its series.
    var about: MetricAbout { get }
    /// Writes its series in Prometheus' text format.
    func write(to page: inout MetricPage)
}

extension MetricPage {
    /// Families in order of their names.
    public init(_ families: [any MetricFamily]) {
        self.init()
        for family in families.sorted(by: { $0.about.name < $1.about.name }) {
            family.write(to: &self)
        }
    }
}
