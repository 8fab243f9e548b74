extension FixedWidthInteger {
    /// The nearest number of this kind; 0 for what is no number. Unlike `init(_:)` it never ends the process.
    public init(nearest number: Double) {
        guard !number.isNaN else {
            self = 0
            return
        }
        let rounded = number.rounded()
        self = Self(exactly: rounded) ?? (rounded < 0 ? .min : .max)
    }
}
