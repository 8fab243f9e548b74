package import CSignalbox
package import SignalboxCore

/// The core's types as structs of the contract, in an arena.
extension CArena {
    /// A device.
    package func device(_ device: Device) -> UnsafePointer<sbx_device> {
        let out = make(sbx_device.self)
        write(device, to: out)
        return UnsafePointer(out)
    }

    /// Attributes or headers; NULL if empty.
    package func pairs(_ attributes: [Attribute]) -> UnsafePointer<sbx_kv>? {
        guard !attributes.isEmpty else { return nil }
        let out = array(sbx_kv.self, count: attributes.count)
        for (index, attribute) in attributes.enumerated() {
            out[index] = sbx_kv(key: text(attribute.key), value: text(attribute.value))
        }
        return UnsafePointer(out)
    }

    /// Overrides of a notification; NULL if empty.
    func pairs(_ overrides: [PayloadOverride]) -> UnsafePointer<sbx_kv>? {
        guard !overrides.isEmpty else { return nil }
        let out = array(sbx_kv.self, count: overrides.count)
        for (index, override) in overrides.enumerated() {
            out[index] = sbx_kv(key: text(override.family), value: text(override.json))
        }
        return UnsafePointer(out)
    }

    /// A request for the ingest role.
    package func request(_ request: IngestRequest) -> UnsafeMutablePointer<sbx_request> {
        let given = make(sbx_request.self)
        given.pointee.struct_size = UInt32(MemoryLayout<sbx_request>.size)
        given.pointee.method = text(request.method)
        given.pointee.path = text(request.path)
        given.pointee.query = text(request.query)
        given.pointee.remote = text(request.remote)
        given.pointee.pattern = text(request.pattern)
        given.pointee.body = bytes(request.body)
        given.pointee.client_certificate = text(request.clientCertificate)
        given.pointee.params = pairs(request.params)
        given.pointee.param_count = request.params.count
        given.pointee.headers = pairs(request.headers)
        given.pointee.header_count = request.headers.count
        given.pointee.received_unix_ms = request.receivedUnixMs
        return given
    }

    /// Recipients, as an array.
    package func recipients(_ recipients: [Recipient]) -> UnsafePointer<sbx_recipient> {
        let out = array(sbx_recipient.self, count: recipients.count)
        let devices = array(sbx_device.self, count: recipients.count)
        for (index, recipient) in recipients.enumerated() {
            write(recipient.device, to: devices + index)
            out[index].struct_size = UInt32(MemoryLayout<sbx_recipient>.size)
            out[index].device = UnsafePointer(devices + index)
            out[index].attributes = pairs(recipient.attributes)
            out[index].attribute_count = recipient.attributes.count
        }
        return UnsafePointer(out)
    }

    /// The event without its recipients.
    package func event(_ event: Event) -> UnsafePointer<sbx_event> {
        let out = make(sbx_event.self)
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_event>.size)
        out.pointee.type = text(event.type)
        out.pointee.subject = text(event.subject)
        out.pointee.dedupe = text(event.dedupe)
        out.pointee.dedupe_window_ms = event.dedupeWindowMs
        out.pointee.data = text(event.data)
        if let parsed = event.parsed { given.add(out.pointee.data, .parsed(parsed)) }
        out.pointee.time_unix_ms = event.timeUnixMs
        out.pointee.recipient_stride = MemoryLayout<sbx_recipient>.stride
        return UnsafePointer(out)
    }

    /// A content.
    package func notification(_ content: SharedNotification) -> UnsafePointer<sbx_notification> {
        let out = make(sbx_notification.self)
        write(content.notification, to: out)
        given.add(out.pointee.data, .part(content, .data))
        for index in 0..<out.pointee.override_count {
            guard let override = out.pointee.overrides?[index] else { break }
            given.add(override.value, .part(content, .override(index)))
        }
        return UnsafePointer(out)
    }

    /// Deliveries, as an array; equal contents have equal pointers.
    package func deliveries(_ deliveries: [Delivery]) -> UnsafePointer<sbx_delivery> {
        let out = array(sbx_delivery.self, count: deliveries.count)
        let devices = array(sbx_device.self, count: deliveries.count)
        // Equal contents must have equal pointers, so that a plugin can render each once.
        var contents: [ObjectIdentifier: UnsafePointer<sbx_notification>] = [:]
        var last: (id: ObjectIdentifier, pointer: UnsafePointer<sbx_notification>)?
        for (index, delivery) in deliveries.enumerated() {
            let id = ObjectIdentifier(delivery.content)
            if last?.id != id {
                if let last { contents[last.id] = last.pointer }
                last = (id, contents[id] ?? notification(delivery.content))
            }
            write(delivery.device, to: devices + index)
            let entry = out + index
            entry.pointee.struct_size = UInt32(MemoryLayout<sbx_delivery>.size)
            if let badge = delivery.badge {
                entry.pointee.flags = SBX_D_BADGE
                entry.pointee.badge = badge
            }
            entry.pointee.attempt = delivery.attempt
            entry.pointee.id = delivery.id
            entry.pointee.deadline_unix_ms = delivery.deadlineUnixMs
            entry.pointee.stable_id = text(delivery.stableID)
            entry.pointee.notification = last?.pointer
            entry.pointee.device = UnsafePointer(devices + index)
            entry.pointee.event_unix_ms = delivery.content.receivedUnixMs
        }
        return UnsafePointer(out)
    }
}
