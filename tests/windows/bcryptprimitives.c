/* The one function that Rust's standard library takes of bcryptprimitives.dll, which wine has from version 9 on. */
#include <windows.h>

/* RtlGenRandom. */
BOOLEAN WINAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
    return SystemFunction036(buffer, (ULONG)length);
}
