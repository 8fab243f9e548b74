internal import COpenSSL

/// Lets OpenSSL read bytes through a BIO.
///
/// OpenSSL keeps the address and copies nothing, so the bytes must stay valid until `body`
/// returns. An array that is only passed to the call that creates the BIO may be freed
/// right after that call.
func reading<Result>(_ bytes: [UInt8], _ body: (_ bio: OpaquePointer?) -> Result) -> Result {
    bytes.withUnsafeBytes { bytes in
        // Empty input is an empty text, but a nil address is an error.
        let start = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
        let bio = BIO_new_mem_buf(start, Int32(clamping: bytes.count))
        defer { BIO_free(bio) }
        return body(bio)
    }
}
