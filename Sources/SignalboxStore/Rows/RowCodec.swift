internal import Foundation
internal import GRDB
internal import SignalboxCore

/// Notifications and devices in rows, as records.
enum RowCodec {
    static func bytes(_ record: some RecordValue) -> [UInt8] {
        var out = RecordWriter()
        out.append(record)
        return out.bytes
    }

    /// nil: the row is damaged.
    static func notification(_ value: DatabaseValue) -> PushNotification? {
        if case .blob(let data) = value.storage { data.withUnsafeBytes { read($0) } } else { nil }
    }

    /// nil: the row is damaged.
    static func device(_ value: DatabaseValue) -> Device? {
        if case .blob(let data) = value.storage { data.withUnsafeBytes { read($0) } } else { nil }
    }

    private static func read<Value: RecordValue>(_ bytes: UnsafeRawBufferPointer) -> Value? {
        guard var record = try? RecordReader(bytes), record.size == bytes.count else { return nil }
        return try? record.read()
    }
}
