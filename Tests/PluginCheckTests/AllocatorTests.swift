import CAllocator
import Testing

/// What is linked with the program is what it uses.
@Suite struct AllocatorTests {
    @Test func `memory comes from the allocator that the program brings`() {
        #expect(allocator_version() != nil)
    }
}
