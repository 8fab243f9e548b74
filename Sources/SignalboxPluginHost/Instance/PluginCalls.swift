internal import SignalboxThreads

/// The calls of workers into plugins, as the log and the metric of slow calls name them.
enum PluginCalls {
    static let handle = CallKind("ingest", "handle()")
    static let filter = CallKind("filter", "filter()")
    static let build = CallKind("build", "build()")
    static let prepare = CallKind("send-http", "prepare()")
    static let classify = CallKind("send-http", "classify()")
    static let report = CallKind("register", "prepare()")
    static let reported = CallKind("register", "classify()")
    static let submit = CallKind("send", "submit()")
    static let observe = CallKind("observe", "observe()")
    static let settled = CallKind("source", "settled()")
    /// What a plugin gave to a service to be called later.
    static let callback = CallKind("service", "callback")

    /// Why an event is not given to an instance whose owner is full.
    static func fullFault(_ name: String) -> PluginFault {
        PluginFault(.again, "the plugin \"\(name)\" does not answer the calls that it has")
    }
}
