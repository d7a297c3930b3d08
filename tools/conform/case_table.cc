// The one table of all cases.
#include "tools/conform/cases.h"

namespace tenon::conform {
namespace {

constexpr Case kCases[] = {
    {1, "L0", "exported_symbol", "c.1", "The file exports tenon_plugin_query_v1 and nothing else.", ExportedSymbol},
    {2, "L0", "note_equals_descriptor", "c.0", "The ELF note is there and says what the descriptor says.",
     NoteEqualsDescriptor},
    {3, "L0", "undefined_symbols", "c.1", "Every symbol comes from the file or from a library that it names.",
     UndefinedSymbols},
    {4, "L0", "unique_symbols", "e.2", "No symbol is STB_GNU_UNIQUE.", UniqueSymbols},
    {5, "L0", "hardened_file", "d.2", "No text relocations, no executable stack; relro and bind-now are on.",
     HardenedFile},
    {6, "L0", "run_path", "d.2", "Libraries are looked for relative to the file only.", RunPath},
    {7, "L0", "static_tls", "d.2", "The file needs no static thread-local storage.", StaticTls},
    {8, "L0", "version_floor", "d.2", "No newer C or C++ library is needed than that of Debian 12.", VersionFloor},
    {9, "L0", "query_is_pure", "c.1", "The entry gives the same pointer in any thread and leaves nothing behind.",
     QueryIsPure},
    {10, "L0", "host_struct_sizes", "c.3", "The entry takes smaller and larger host structs.", HostStructSizes},
    {11, "L0", "older_host", "c.2", "The plugin works with the oldest host that it names, and refuses older ones.",
     OlderHost},
    {12, "L0", "future_host", "c.2", "The plugin works with a host of a newer minor.", FutureHost},
    {13, "L0", "unknown_major", "c.2", "The entry answers NULL to another major.", UnknownMajor},
    {14, "L0", "host_table_garbage", "c.3", "What lies after the known part of the host table is ignored.",
     HostTableGarbage},
    {15, "L0", "optional_services_absent", "c.14", "The plugin works when every optional host service is NULL.",
     OptionalServicesAbsent},
    {16, "L0", "create_under_faults", "c.4", "create fails with a text and leaves nothing when a service fails.",
     CreateUnderFaults, 120},
    {17, "L0", "create_many_times", "c.16", "100 lives of an instance leave no memory, threads or descriptors.",
     CreateManyTimes, 120},
    {18, "L0", "two_instances", "c.1", "Two instances live at once and do not share their end.", TwoInstances},
    {19, "L0", "clashing_names", "e.2", "Libraries with the same names in the process are not called by the plugin.",
     ClashingNames},
    {20, "L0", "lazy_and_now", "e.1", "The file opens and works with lazy binding and with bind-now.", LazyAndNow},
    {21, "L0", "out_struct_capacity", "c.3", "Out-structs are written up to the caller's capacity, never beyond.",
     OutStructCapacity},
    {22, "L0", "in_struct_larger", "c.3", "In-structs of a newer host are accepted.", InStructLarger},
    {23, "L0", "reserved_fields", "c.3", "Reserved fields and unknown flag bits are 0.", ReservedFields},
    {24, "L0", "unknown_enum", "c.3", "Wrong enumerators and indices are refused, unknown hints are not.", UnknownEnum},
    {25, "L0", "null_sink", "c.4", "Failing calls work without an error sink.", NullSink},
    {26, "L0", "error_text", "c.4", "Errors have a text that names the wrong value.", ErrorText},
    {27, "L0", "array_stride", "c.3", "Arrays of records are walked with the caller's stride.", ArrayStride},
    {28, "L0", "injected_exception", "c.4", "No exception leaves a slot; failing callbacks become codes.",
     InjectedException},
    {29, "L0", "unknown_option", "c.14", "Unknown options stay unknown, values of another type fail create.",
     UnknownOption},
    {30, "L0", "process_untouched", "c.16",
     "No call changes locale, floating-point mode, folder, signals, mask or environment.", ProcessUntouched, 120},
};

}  // namespace

std::span<const Case> Cases() { return kCases; }

}  // namespace tenon::conform
