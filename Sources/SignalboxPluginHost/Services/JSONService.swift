internal import CSignalbox
internal import SignalboxJSON

/// `sbx.json/1`.
enum JSONService {
    static var table: sbx_json {
        var table = sbx_json()
        table.parse = { host, text, root, error in
            guard let scope = CallScope.current else {
                guard let context = InstanceContext.from(host) else { return SBX_E_INVALID }
                return CError.write(
                    error, SBX_E_INVALID,
                    "this thread is in no role call: use sbx.scope/1 on threads of your own",
                    context.structs, "parse() of sbx.json/1")
            }
            guard let root else { return SBX_E_INVALID }
            do throws(JSONFault) {
                root.pointee = JSONService.plain(try scope.parse(text.buffer))
                return SBX_OK
            } catch let fault {
                guard let context = InstanceContext.from(host) else { return SBX_E_INVALID }
                return CError.write(
                    error, SBX_E_INVALID, fault.message, context.structs, "parse() of sbx.json/1")
            }
        }
        table.at = { value, pointer, out in
            guard let value = JSONService.value(value), let out,
                let found = JSONParser.at(value, pointer: pointer.buffer)
            else { return SBX_E_NOT_FOUND }
            out.pointee = JSONService.plain(found)
            return SBX_OK
        }
        table.kind = { value in
            JSONService.value(value).map { JSONParser.kind(of: $0).rawValue } ?? SBX_JSON_NULL
        }
        table.string = { value, out in
            guard let text = JSONService.value(value).flatMap({ JSONParser.string($0) }), let out
            else { return SBX_E_INVALID }
            out.pointee = JSONService.text(text)
            return SBX_OK
        }
        table.integer = { value, out in
            guard let number = JSONService.value(value).flatMap({ JSONParser.integer($0) }),
                let out
            else { return SBX_E_INVALID }
            out.pointee = number
            return SBX_OK
        }
        table.boolean = { value, out in
            guard let flag = JSONService.value(value).flatMap({ JSONParser.boolean($0) }), let out
            else { return SBX_E_INVALID }
            out.pointee = flag ? 1 : 0
            return SBX_OK
        }
        table.text = { value, out in
            guard let scope = CallScope.current, let value = JSONService.value(value), let out,
                let text = scope.text(of: value)
            else { return SBX_E_INVALID }
            out.pointee = text
            return SBX_OK
        }
        table.count = { value in JSONService.value(value).map { JSONParser.count($0) } ?? 0 }
        table.first = { value, cursor in
            guard let value = JSONService.value(value), let cursor,
                let first = JSONParser.first(value)
            else { return SBX_E_INVALID }
            cursor.pointee.state = first.words
            return SBX_OK
        }
        table.next = { cursor, key, value in
            guard CallScope.current != nil, let cursor, let value else { return SBX_E_INVALID }
            var walk = JSONParser.Cursor(words: cursor.pointee.state)
            guard let next = JSONParser.next(&walk) else { return SBX_E_NOT_FOUND }
            cursor.pointee.state = walk.words
            key?.pointee = JSONService.text(next.key)
            value.pointee = JSONService.plain(next.value)
            return SBX_OK
        }
        return table
    }

    /// A value of a document of this call; nil if the plugin kept it too long or made it up.
    private static func value(_ value: sbx_json_value) -> JSONParser.Value? {
        guard CallScope.owns(value) else { return nil }
        return JSONParser.Value(document: value.document, position: value.position)
    }

    private static func plain(_ value: JSONParser.Value) -> sbx_json_value {
        sbx_json_value(document: value.document, position: value.position)
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> sbx_str {
        let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
        return sbx_str(ptr: start, len: bytes.count)
    }
}
