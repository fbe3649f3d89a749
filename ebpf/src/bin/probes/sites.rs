//! The kernel functions that operations on one element run through, and their programs: for each
//! an entry, an exit, and an exit for kernels where a program can run inside itself (before 5.12).

use aya_ebpf::{
    macros::{fentry, fexit},
    programs::{FEntryContext, FExitContext},
};
use mapstorm_abi::{Hook, Op};

use crate::{
    operation::{Site, enter, exit},
    tables::{cpu, load, store},
};

/// The kernel's `MAX_ERRNO`: pointers from -4095 on are errnos.
const MAX_ERRNO: i64 = 4095;
/// `-ENOENT`.
const ENOENT: i32 = -2;

/// Errno of a function that returns one: `int` up to 6.3, `long` after.
#[inline(always)]
fn of_int(_: Hook, ret: u64) -> Option<i32> {
    Some(ret as i32)
}

/// A pointer as a number: the verifier lets nobody calculate with one, but what comes out of a map is
/// a number. The place is this program's own on its CPU.
#[inline(always)]
fn number(hook: Hook, pointer: u64) -> Option<u64> {
    let place = &cpu()?.returned[hook as usize];
    store(place, pointer);
    Some(load(place))
}

/// Errno of a function that returns a pointer, or an errno as one.
#[inline(always)]
fn of_pointer(hook: Hook, ret: u64) -> Option<i32> {
    let ret = number(hook, ret)? as i64;
    Some(if (-MAX_ERRNO..0).contains(&ret) {
        ret as i32
    } else {
        0
    })
}

/// Errno of a function that returns NULL for what is not there.
#[inline(always)]
fn of_found(hook: Hook, ret: u64) -> Option<i32> {
    Some(if number(hook, ret)? == 0 { ENOENT } else { 0 })
}

/// Errno of a function that returns nothing.
#[inline(always)]
fn of_nothing(_: Hook, _: u64) -> Option<i32> {
    Some(0)
}

/// The programs of one function: hook, operation, place of the map, parameters, whether it pops, how
/// it returns; names of entry, exit, and nesting exit.
macro_rules! site {
    (
        $site:ident: $hook:ident, $op:ident, map $map:literal of $arguments:literal, pops $pops:literal,
        $errno:ident, $in:ident, $out:ident, $nesting:ident
    ) => {
        site!(
            $site: $hook, $op, map $map of $arguments, pops $pops, $errno, $out, $nesting
        );

        /// Entry program.
        #[fentry]
        pub(crate) fn $in(ctx: FEntryContext) -> u32 {
            enter::<$site>(&ctx);
            0
        }
    };
    // Another form of a function, with other parameters: its entry is the same.
    (
        $site:ident: $hook:ident, $op:ident, map $map:literal of $arguments:literal, pops $pops:literal,
        $errno:ident, $out:ident, $nesting:ident
    ) => {
        /// The kernel function, in one of its forms.
        pub(crate) struct $site;

        impl Site for $site {
            const HOOK: Hook = Hook::$hook;
            const OP: Op = Op::$op;
            const MAP: usize = $map;
            const POPS: bool = $pops;

            #[inline(always)]
            fn errno(ctx: &FExitContext) -> Option<i32> {
                $errno(Self::HOOK, ctx.arg($arguments))
            }

            #[inline(always)]
            fn errno_of(ret: u64) -> Option<i32> {
                $errno(Self::HOOK, ret)
            }
        }

        site!(exits $site, $out, $nesting);
    };
    (exits $site:ident, $out:ident, $nesting:ident) => {
        /// Exit program.
        #[fexit]
        pub(crate) fn $out(ctx: FExitContext) -> u32 {
            exit::<$site, false>(&ctx);
            0
        }

        /// Exit program before 5.12.
        #[fexit]
        pub(crate) fn $nesting(ctx: FExitContext) -> u32 {
            exit::<$site, true>(&ctx);
            0
        }
    };
}

site!(
    HtabUpdate: HtabUpdate, Update, map 0 of 4, pops true, of_int,
    htab_update_in, htab_update_out, htab_update_out_nesting
);
site!(
    LruUpdate: LruUpdate, Update, map 0 of 4, pops false, of_int,
    lru_update_in, lru_update_out, lru_update_out_nesting
);
site!(
    PercpuUpdate: PercpuUpdate, Update, map 0 of 5, pops true, of_int,
    percpu_update_in, percpu_update_out, percpu_update_out_nesting
);
site!(
    InPlaceUpdate: InPlaceUpdate, Update, map 0 of 6, pops true, of_int,
    in_place_update_in, in_place_update_out, in_place_update_out_nesting
);
site!(
    LruPercpuUpdate: LruPercpuUpdate, Update, map 0 of 5, pops false, of_int,
    lru_percpu_update_in, lru_percpu_update_out, lru_percpu_update_out_nesting
);
site!(
    RhashUpdate: RhashUpdate, Update, map 0 of 4, pops false, of_int,
    rhash_update_in, rhash_update_out, rhash_update_out_nesting
);
site!(
    HtabDelete: HtabDelete, Delete, map 0 of 2, pops false, of_int,
    htab_delete_in, htab_delete_out, htab_delete_out_nesting
);
site!(
    LruDelete: LruDelete, Delete, map 0 of 2, pops false, of_int,
    lru_delete_in, lru_delete_out, lru_delete_out_nesting
);
site!(
    RhashDelete: RhashDelete, Delete, map 0 of 2, pops false, of_int,
    rhash_delete_in, rhash_delete_out, rhash_delete_out_nesting
);
site!(
    HtabLookupAndDelete: HtabLookupAndDelete, LookupAndDelete, map 0 of 6, pops false, of_int,
    htab_lookup_and_delete_in, htab_lookup_and_delete_out, htab_lookup_and_delete_out_nesting
);
site!(
    RhashLookupAndDelete: RhashLookupAndDelete, LookupAndDelete, map 0 of 4, pops false, of_int,
    rhash_lookup_and_delete_in, rhash_lookup_and_delete_out, rhash_lookup_and_delete_out_nesting
);
// Updates of local storage: with `gfp_flags` since 5.18, with `swap_uptrs` in its place or beside it
// since 6.13.
site!(
    StorageUpdate4: StorageUpdate, Update, map 1 of 4, pops false, of_pointer,
    storage_update_in, storage_update_out, storage_update_out_nesting
);
site!(
    StorageUpdate5: StorageUpdate, Update, map 1 of 5, pops false, of_pointer,
    storage_update_5_out, storage_update_5_out_nesting
);
site!(
    StorageUpdate6: StorageUpdate, Update, map 1 of 6, pops false, of_pointer,
    storage_update_6_out, storage_update_6_out_nesting
);
site!(
    StorageLookup: StorageLookup, StorageLookup, map 1 of 3, pops false, of_found,
    storage_lookup_in, storage_lookup_out, storage_lookup_out_nesting
);
site!(
    StorageCacheInsert: StorageCacheInsert, StorageCacheInsert, map 1 of 3, pops false, of_nothing,
    storage_cache_in, storage_cache_out, storage_cache_out_nesting
);
