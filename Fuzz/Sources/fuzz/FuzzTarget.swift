/// A parser with the properties that each input must have.
struct FuzzTarget: Sendable {
    let name: String
    let run: @Sendable (UnsafeRawBufferPointer) -> Void

    /// The one that this process runs; set once, before the first input.
    nonisolated(unsafe) static var current: FuzzTarget?

    static let all: [FuzzTarget] = [
        .wire, .json, .config, .template, .condition, .http, .http2, .record, .block, .keys,
        .ingest, .classify,
    ]
}

/// Ends the process, which libFuzzer reports as a crash, unless a property holds.
func require(_ isSo: Bool, _ words: @autoclosure () -> String) {
    if !isSo { fatalError("broken property: \(words())") }
}
