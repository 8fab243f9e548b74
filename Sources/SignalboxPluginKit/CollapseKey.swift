/// Collapse keys in the form Apple accepts.
public enum CollapseKey {
    /// Apple accepts 64 bytes, and a header accepts neither control characters nor spaces at its ends.
    /// Any other key is cut to what is allowed and gets a fingerprint of the whole, so that equal keys
    /// stay equal and different ones stay different.
    public static func shortened(_ key: String) -> String {
        var start = key
        start.unicodeScalars.removeAll { $0.value < 0x20 || $0.value == 0x7F }
        while start.unicodeScalars.first == " " { start.unicodeScalars.removeFirst() }
        while start.unicodeScalars.last == " " { start.unicodeScalars.removeLast() }
        guard key.utf8.count > 64 || start != key else { return key }
        var print = Fingerprint()
        print.add(key)
        while start.utf8.count > 47 { start.removeLast() }
        return "\(start)-\(print.text)"
    }
}
