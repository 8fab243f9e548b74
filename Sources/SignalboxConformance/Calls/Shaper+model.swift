internal import CSignalbox

/// Lays out the arguments of a plugin call anew.
extension Shaper {
    func device(_ given: UnsafePointer<sbx_device>?) -> UnsafePointer<sbx_device>? {
        one(given) { shape(&$0) }
    }

    func deliveries(
        _ given: UnsafePointer<sbx_delivery>, _ count: Int
    ) -> (start: UnsafePointer<sbx_delivery>?, stride: Int) {
        // Equal contents keep equal pointers.
        var contents: [UInt: UnsafePointer<sbx_notification>?] = [:]
        return list(given, count) { delivery in
            let content = delivery.notification
            shape(&delivery)
            let key = UInt(bitPattern: content)
            let known = contents[key] ?? delivery.notification
            contents[key] = known
            delivery.notification = known
        }
    }

    func changes(
        _ given: UnsafePointer<sbx_change>, _ count: Int
    ) -> (start: UnsafePointer<sbx_change>?, stride: Int) { list(given, count) { shape(&$0) } }

    func responses(
        _ given: UnsafePointer<sbx_http_response>, _ count: Int
    ) -> (start: UnsafePointer<sbx_http_response>?, stride: Int) {
        list(given, count) { shape(&$0) }
    }

    func request(_ given: UnsafePointer<sbx_request>) -> UnsafePointer<sbx_request>? {
        one(given) { shape(&$0) }
    }

    func input(_ given: UnsafePointer<sbx_build_input>) -> UnsafePointer<sbx_build_input>? {
        one(given) { shape(&$0) }
    }

    func input(_ given: UnsafePointer<sbx_filter_input>) -> UnsafePointer<sbx_filter_input>? {
        one(given) { shape(&$0) }
    }
}
