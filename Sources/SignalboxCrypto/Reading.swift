internal import COpenSSL

/// Lets OpenSSL read bytes.
///
/// It keeps their address and copies nothing, so they are held until `body` is done: an array that is only handed to
/// the call that makes the BIO may be gone right after it.
func reading<Result>(_ bytes: [UInt8], _ body: (_ bio: OpaquePointer?) -> Result) -> Result {
    bytes.withUnsafeBytes { bytes in
        // No bytes are an empty text, and no address would be an error.
        let start = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
        let bio = BIO_new_mem_buf(start, Int32(clamping: bytes.count))
        defer { BIO_free(bio) }
        return body(bio)
    }
}
