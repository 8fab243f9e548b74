/// A text in several languages: one of `texts:`, chosen by the recipient's locale.
public struct TextByLocale: Sendable, Hashable {
    private let byLocale: [String: Template]
    private let fallback: Template

    /// Takes texts by locale (`de-AT`, `de`), and one for all other locales.
    public init(_ texts: [String: Template], default fallback: Template) {
        byLocale = Dictionary(
            texts.map { (Self.plain($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
        self.fallback = fallback
    }

    /// The text for a locale, dropping its last part until one matches: `zh-Hant-TW`, `zh-Hant`, `zh`.
    func template(for locale: String) -> Template {
        var wanted = Self.plain(locale)
        while !wanted.isEmpty {
            if let found = byLocale[wanted] { return found }
            guard let end = wanted.lastIndex(of: "-") else { break }
            wanted = String(wanted[..<end])
        }
        return fallback
    }

    /// The fields that its templates read.
    var fields: [FieldPath] { byLocale.values.flatMap(\.fields) + fallback.fields }

    /// Android writes `de_AT`.
    private static func plain(_ locale: String) -> String {
        String(locale.lowercased().map { $0 == "_" ? "-" : $0 })
    }
}
