/* entry.loads: set struct_size of sbx_plugin to 0 in its entry; contract 1.1 wants 112 */
#define ON_ENTRY static sbx_plugin wrong; wrong = plugin; wrong.struct_size = 0; return &wrong;
#include "base.h"
