import CFuzzer
import Foundation

// `fuzz TARGET [flags of libFuzzer] [corpus ...]`; without a target it lists them.
var arguments = CommandLine.arguments
guard arguments.count > 1, let chosen = FuzzTarget.all.first(where: { $0.name == arguments[1] })
else {
    for target in FuzzTarget.all { print(target.name) }
    exit(arguments.count > 1 ? 2 : 0)
}
arguments.remove(at: 1)
FuzzTarget.current = chosen
var count = CInt(arguments.count)
var pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = .allocate(
    capacity: arguments.count + 1)
for (index, text) in arguments.enumerated() { pointers?[index] = strdup(text) }
pointers?[arguments.count] = nil
exit(
    LLVMFuzzerRunDriver(&count, &pointers) { start, count in
        FuzzTarget.current?.run(UnsafeRawBufferPointer(start: start, count: count))
        return 0
    })
