import CAllocator
import Testing

/// The program uses the allocator that it is linked with.
@Suite struct AllocatorTests {
    @Test func `memory comes from the allocator that the program brings`() {
        #expect(allocator_version() != nil)
    }
}
