internal import CSignalbox
internal import SignalboxCore
internal import SignalboxJSON

/// `sbx.fit/1`.
enum FitService {
    private static let call = "fit() of sbx.fit/1"

    static var table: sbx_fit {
        var table = sbx_fit()
        table.fit = { host, request, out, error in
            guard let scope = CallScope.current, let context = InstanceContext.from(host),
                let request, let out
            else { return SBX_E_INVALID }
            let structs = context.structs
            let read = structs.reading(FitService.call) { () throws(StructFault) in
                try structs.read(request)
            }
            guard let request = read else { return SBX_E_INVALID }
            do throws(PluginFault) {
                let made = try FitService.fit(request)
                for field in made.shortened.fields {
                    context.services.shortened(instance: context.name, field: field)
                }
                scope.noteFit(made.shortened)
                out.pointee = scope.arena.bytes(made.payload)
                return SBX_OK
            } catch let fault {
                return CError.write(
                    error, fault.kind.rawValue, fault.message, structs, FitService.call)
            }
        }
        return table
    }

    private static func fit(
        _ request: sbx_fit_request
    ) throws(PluginFault) -> (payload: [UInt8], shortened: ShortenedTexts) {
        if request.flags & SBX_FIT_PLAIN != 0 { return cut(request) }
        guard let payload = try? JSONValue.parse(Array(request.payload.raw)),
            case .object = payload
        else { throw PluginFault(.invalid, "the payload is not a JSON object") }
        let bytesMax = Int(clamping: request.bytes_max)
        let (named, whole, omit) = try builderPlaces(request)
        let places = KeyValues.copy(request.places, request.place_count).map {
            (field: FitField(rawValue: $0.key) ?? .data, pointer: steps($0.value))
        }
        let counted = (0..<request.counted_count).compactMap { index in
            request.counted.map { steps($0[index].text) }
        }
        let fit = PayloadFit(
            bytesMax: bytesMax, countsTexts: request.flags & SBX_FIT_TEXTS != 0, counted: counted,
            places: places + named.map { (.data, $0) }, whole: whole, omit: omit)
        guard let made = fit.fitted(payload) else {
            throw PluginFault(
                .tooLarge,
                "the payload is over \(bytesMax) bytes even when fully shortened")
        }
        if made.shortened.isEmpty { return (Array(request.payload.raw), []) }
        var bytes: [UInt8] = []
        made.payload.write(to: &bytes)
        return (bytes, made.shortened)
    }

    /// A text that is no JSON.
    private static func cut(_ request: sbx_fit_request) -> ([UInt8], ShortenedTexts) {
        let text = request.payload.text
        let made = ShortenedText.cut(
            text, to: Int(clamping: request.bytes_max),
            isUTF16: request.flags & SBX_FIT_UTF16 != 0)
        return (Array(made.utf8), made == text ? [] : ShortenedTexts(field: "body"))
    }

    /// The places named by the notification's override `shorten`, as places in the payload.
    private static func builderPlaces(
        _ request: sbx_fit_request
    ) throws(PluginFault) -> (places: [[String]], whole: [[String]], omit: [[String]]) {
        guard !request.shorten.isEmpty else { return ([], [], []) }
        guard let given = try? JSONValue.parse(Array(request.shorten.raw)) else {
            throw PluginFault(.invalid, "the override \"shorten\" is not JSON")
        }
        let base = steps(request.data.text)
        func pointers(_ key: String) -> [[String]] {
            guard case .array(let items) = given[key] else { return [] }
            return items.compactMap { $0.string.map { base + steps($0) } }
        }
        return (pointers("places"), pointers("whole"), pointers("omit"))
    }

    /// The steps of an RFC 6901 pointer.
    private static func steps(_ pointer: String) -> [String] {
        pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { step in
            guard step.utf8.contains(UInt8(ascii: "~")) else { return String(step) }
            var out = ""
            var isEscaped = false
            for character in step {
                if isEscaped {
                    out.append(character == "1" ? "/" : "~")
                    isEscaped = false
                } else if character == "~" {
                    isEscaped = true
                } else {
                    out.append(character)
                }
            }
            return out
        }
    }
}
