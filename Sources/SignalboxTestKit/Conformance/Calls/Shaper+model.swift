internal import CSignalbox

/// What each struct of the contract points to.
extension Shaper {
    func device(_ given: UnsafePointer<sbx_device>?) -> UnsafePointer<sbx_device>? {
        one(given) { device in
            device.app = text(device.app)
            device.platform = text(device.platform)
            device.provider = text(device.provider)
            device.token = text(device.token)
            device.source_token = text(device.source_token)
            device.user = text(device.user)
            device.locale = text(device.locale)
            device.attributes = pairs(device.attributes, device.attribute_count)
        }
    }

    func notification(
        _ given: UnsafePointer<sbx_notification>?
    ) -> UnsafePointer<sbx_notification>? {
        one(given) { note in
            note.title = text(note.title)
            note.subtitle = text(note.subtitle)
            note.body = text(note.body)
            note.sound = text(note.sound)
            note.thread = text(note.thread)
            note.category = text(note.category)
            note.collapse = text(note.collapse)
            note.image_url = text(note.image_url)
            note.link = text(note.link)
            note.push_type = text(note.push_type)
            note.data = text(note.data)
            note.overrides = pairs(note.overrides, note.override_count)
        }
    }

    func deliveries(
        _ given: UnsafePointer<sbx_delivery>, _ count: Int
    ) -> (start: UnsafePointer<sbx_delivery>?, stride: Int) {
        // Equal contents keep equal pointers.
        var contents: [UInt: UnsafePointer<sbx_notification>?] = [:]
        return list(given, count) { delivery in
            delivery.stable_id = text(delivery.stable_id)
            delivery.device = device(delivery.device)
            let key = UInt(bitPattern: delivery.notification)
            let content = contents[key] ?? notification(delivery.notification)
            contents[key] = content
            delivery.notification = content
        }
    }

    func changes(
        _ given: UnsafePointer<sbx_change>, _ count: Int
    ) -> (start: UnsafePointer<sbx_change>?, stride: Int) {
        list(given, count) { change in
            change.device = device(change.device)
            change.reason = text(change.reason)
            change.subject = text(change.subject)
        }
    }

    func responses(
        _ given: UnsafePointer<sbx_http_response>, _ count: Int
    ) -> (start: UnsafePointer<sbx_http_response>?, stride: Int) {
        list(given, count) { response in
            response.app = text(response.app)
            response.headers = pairs(response.headers, response.header_count)
            response.body = text(response.body)
            let items = UnsafeBufferPointer(start: response.items, count: response.item_count)
            response.items = plain(Array(items))
        }
    }

    func request(_ given: UnsafePointer<sbx_request>) -> UnsafePointer<sbx_request>? {
        one(given) { request in
            request.method = text(request.method)
            request.path = text(request.path)
            request.query = text(request.query)
            request.remote = text(request.remote)
            request.pattern = text(request.pattern)
            request.body = text(request.body)
            request.client_certificate = text(request.client_certificate)
            request.params = pairs(request.params, request.param_count)
            request.headers = pairs(request.headers, request.header_count)
        }
    }

    func input(_ given: UnsafePointer<sbx_build_input>) -> UnsafePointer<sbx_build_input>? {
        one(given) { input in
            input.event = one(input.event) { event in
                event.type = text(event.type)
                event.subject = text(event.subject)
                event.dedupe = text(event.dedupe)
                event.data = text(event.data)
            }
            input.route = text(input.route)
            input.instance = text(input.instance)
            input.options = text(input.options)
            let (start, stride) = list(input.recipients, input.recipient_count) { recipient in
                recipient.device = device(recipient.device)
                recipient.attributes = pairs(recipient.attributes, recipient.attribute_count)
            }
            input.recipients = start
            input.recipient_stride = stride
        }
    }
}
