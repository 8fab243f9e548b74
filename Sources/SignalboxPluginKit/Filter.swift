internal import CSignalbox

/// Stands between a route and its builder: leaves recipients out, changes an event's data, has pushes wait.
public protocol FilterPlugin: Plugin {
    /// JSON Schema of a filter's options in a route; nil if it takes none.
    static var filterOptionsSchema: String? { get }
    /// Filters one event for its recipients on a route; recipients that the sink is not told of pass unchanged.
    ///
    /// Pure: the same input gives the same output, and only log and JSON are used. Returns within milliseconds, since
    /// the source waits. Throwing fails the event on this route. Thread: worker.
    func filter(_ input: borrowing FilterInput, _ sink: borrowing FilterSink) throws(PluginError)
}

extension FilterPlugin {
    /// No options.
    public static var filterOptionsSchema: String? { nil }
}

/// The input of a filter; valid during `filter`.
public struct FilterInput: ~Copyable {
    private let raw: UnsafePointer<sbx_filter_input>
    private let host: Host

    init(_ raw: UnsafePointer<sbx_filter_input>, host: Host) {
        self.raw = raw
        self.host = host
    }

    /// The event's type.
    public var type: String { raw.pointee.event.pointee.type.text }
    /// What the event is about.
    public var subject: String { raw.pointee.event.pointee.subject.text }
    /// When it happened, in Unix milliseconds; 0 for the time of receipt.
    public var timeUnixMs: UInt64 { raw.pointee.event.pointee.time_unix_ms }
    /// The event's dedupe key; empty for none.
    public var dedupe: String { raw.pointee.event.pointee.dedupe.text }
    /// The instance that emitted the event.
    public var instance: String { raw.pointee.instance.text }
    /// The route's name.
    public var route: String { raw.pointee.route.text }
    /// The host's clock, in Unix milliseconds.
    public var nowUnixMs: UInt64 { raw.pointee.now_unix_ms }
    /// The number of recipients.
    public var recipientCount: Int { raw.pointee.recipient_count }

    /// The event's data, parsed.
    public func data() throws(PluginError) -> JSON {
        try host.parse(raw.pointee.event.pointee.data)
    }

    /// The filter's options in the route, parsed.
    public func options() throws(PluginError) -> JSON { try host.parse(raw.pointee.options) }

    /// A recipient with its attributes, but without its token, which filters do not need.
    public func recipient(_ index: Int) -> Recipient {
        guard index >= 0, index < recipientCount, let start = raw.pointee.recipients else {
            return Recipient(Device())
        }
        let given = start.element(index, raw.pointee.recipient_stride).known(sbx_recipient())
        var device = given.device.map { Device($0) } ?? Device()
        device.token = ""
        device.sourceToken = ""
        return Recipient(device, attributes: texts(given.attributes, given.attribute_count))
    }
}

/// Takes what a filter decides; valid during `filter`.
public struct FilterSink: ~Copyable {
    private let raw: UnsafeMutablePointer<sbx_filter_sink>

    init(_ raw: UnsafeMutablePointer<sbx_filter_sink>) { self.raw = raw }

    /// Passes these recipients on, with other data or later.
    ///
    /// `data` is a JSON object, or nil to change nothing. `notBeforeUnixMs` is at most 30 days ahead; 0 means at once.
    public func pass(
        _ recipients: [Int], data: consuming JSONWriter? = nil, notBeforeUnixMs: UInt64 = 0
    ) throws(PluginError) {
        let arena = Arena()
        let part = arena.array(sbx_filter_part.self, 1)
        part.pointee.struct_size = UInt32(MemoryLayout<sbx_filter_part>.size)
        part.pointee.recipients = Self.list(recipients, arena)
        part.pointee.recipient_count = recipients.count
        if let data { part.pointee.data = arena.bytes(data.bytes) }
        part.pointee.not_before_unix_ms = notBeforeUnixMs
        let status = raw.pointee.pass(raw, part)
        try PluginError.check(status, "the host rejected a part of a filter")
    }

    /// These recipients get nothing on this route; `reason` is from a fixed list.
    public func drop(_ recipients: [Int], _ reason: String) throws(PluginError) {
        let arena = Arena()
        let list = Self.list(recipients, arena)
        let status = raw.pointee.drop(raw, list, recipients.count, arena.text(reason))
        try PluginError.check(status, "the host rejected the recipients of a filter")
    }

    private static func list(_ recipients: [Int], _ arena: Arena) -> UnsafePointer<UInt32> {
        let list = arena.array(UInt32.self, recipients.count)
        for (index, recipient) in recipients.enumerated() {
            list[index] = UInt32(clamping: recipient)
        }
        return UnsafePointer(list)
    }
}

/// The functions of `sbx_filter`.
enum FilterCalls {
    static var table: sbx_filter {
        var table = sbx_filter()
        table.filter = { instance, input, sink, error in
            guard let input, let sink else { return SBX_E_INTERNAL }
            return role(instance, error) { (plugin: any FilterPlugin, box) throws(PluginError) in
                try plugin.filter(FilterInput(input, host: box.host), FilterSink(sink))
            }
        }
        return table
    }
}
