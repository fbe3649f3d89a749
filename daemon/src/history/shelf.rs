//! The file: opened when it is a history of storms, moved aside when it is anything else.

use std::{
    any::Any,
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use redb::{
    Builder, Database, DatabaseError, Error, ReadableDatabase, StorageError, TableDefinition,
    TableHandle as _,
};

use super::HistoryError;

/// The file in the directory of state.
const FILE: &str = "storms.redb";
/// What it is called while it is made: a daemon that is killed meanwhile leaves no half of a history behind.
const UNFINISHED: &str = "storms.redb.new";
/// What tells ours from other redb files, and which format it has.
pub(super) const ABOUT: TableDefinition<'static, &str, u64> = TableDefinition::new("mapstorm");
pub(super) const FORMAT_KEY: &str = "format";
pub(super) const FORMAT: u64 = 1;
/// Memory for pages of the file, bytes: a history has a few hundred records.
const CACHE: usize = 1 << 20;

/// An open file.
pub(super) struct Shelf {
    pub(super) database: Database,
    /// Where that file is now which was in the way, and what was wrong with it.
    pub(super) aside: Option<(PathBuf, String)>,
}

/// Why a file could not be opened.
enum Unfit {
    /// It is not what it should be: it gives way.
    Strange(String),
    /// It may be, and cannot be had.
    Refused(HistoryError),
}

/// The path of the file in a directory of state.
pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// Opens the history in `directory`; makes both where they are not there.
pub(super) fn open(directory: &Path) -> Result<Shelf, HistoryError> {
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory);
    made.map_err(|error| HistoryError::Directory {
        path: directory.to_owned(),
        error,
    })?;
    let path = path(directory);
    let aside = match open_ours(&path) {
        Ok(database) => {
            return Ok(Shelf {
                database,
                aside: None,
            });
        }
        Err(Unfit::Refused(error)) => return Err(error),
        Err(Unfit::Strange(why)) => (move_aside(&path, &why)?, why),
    };
    match open_ours(&path) {
        Ok(database) => Ok(Shelf {
            database,
            aside: Some(aside),
        }),
        Err(Unfit::Refused(error)) => Err(error),
        Err(Unfit::Strange(why)) => Err(HistoryError::Open {
            path,
            error: io::Error::other(why),
        }),
    }
}

/// Opens the file, and checks every page of it. Of what is altered on purpose redb may panic.
fn open_ours(path: &Path) -> Result<Database, Unfit> {
    if let Some(why) = peek(path) {
        return Err(Unfit::Strange(why));
    }
    let there = path.try_exists();
    let there = there.map_err(|error| unfit(path, StorageError::Io(error).into()))?;
    let database = if there {
        create(path).map_err(|error| unfit(path, error))?
    } else {
        make(path)?
    };
    let looked = catch_unwind(AssertUnwindSafe(|| strangeness(&database)));
    match looked {
        Ok(Ok(None)) => Ok(database),
        Ok(Ok(Some(why))) => Err(Unfit::Strange(why)),
        Ok(Err(error)) => Err(Unfit::Strange(error.to_string())),
        Err(panic) => Err(Unfit::Strange(words(&*panic))),
    }
}

/// Opens a file, or makes it.
fn create(path: &Path) -> Result<Database, DatabaseError> {
    let opened = catch_unwind(|| {
        let mut builder = Builder::new();
        builder
            .set_cache_size(CACHE)
            .set_check_integrity_on_open(true);
        builder.create(path)
    });
    opened.unwrap_or_else(|panic| Err(StorageError::Corrupted(words(&*panic)).into()))
}

/// Makes a file elsewhere, and gives it its name when it is whole. Who makes it meanwhile, too, is told that it is in use.
fn make(path: &Path) -> Result<Database, Unfit> {
    let unfinished = path.with_file_name(UNFINISHED);
    let refused = |error| unfit(path, StorageError::Io(error).into());
    remove(&unfinished).map_err(refused)?;
    let database = create(&unfinished).map_err(|error| unfit(path, error))?;
    let named = fs::hard_link(&unfinished, path);
    let removed = remove(&unfinished);
    named.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => {
            Unfit::Refused(HistoryError::InUse(path.to_owned()))
        }
        _ => refused(error),
    })?;
    // The name, too, must outlive a power cut.
    let synced = path
        .parent()
        .map_or(Ok(()), |directory| File::open(directory)?.sync_all());
    removed.and(synced).map_err(refused)?;
    Ok(database)
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// What is strange about a file, as far as that can be told without writing to it: to open it for writing is to write.
/// One that was not closed in order must be mended first.
fn peek(path: &Path) -> Option<String> {
    let looked = catch_unwind(|| {
        let database = Builder::new().open_read_only(path).ok()?;
        strangeness(&database).unwrap_or_else(|error| Some(error.to_string()))
    });
    looked.unwrap_or_else(|panic| Some(words(&*panic)))
}

/// What is strange about a file that redb can read; nothing about a new one.
fn strangeness(database: &impl ReadableDatabase) -> Result<Option<String>, Error> {
    let reader = database.begin_read()?;
    let names: Vec<String> = { reader.list_tables()? }
        .map(|table| table.name().to_owned())
        .collect();
    if names.is_empty() {
        return Ok(None);
    }
    if !names.iter().any(|name| name == ABOUT.name()) {
        return Ok(Some("it is another program's".to_owned()));
    }
    let format = { reader.open_table(ABOUT)?.get(FORMAT_KEY)? }.map(|format| format.value());
    Ok(match format {
        Some(FORMAT) => None,
        Some(format) => Some(format!("its format is {format}, another mapstorm's")),
        None => Some("it does not tell its format".to_owned()),
    })
}

fn unfit(path: &Path, error: DatabaseError) -> Unfit {
    let path = path.to_owned();
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            Unfit::Refused(HistoryError::InUse(path))
        }
        DatabaseError::Storage(StorageError::Io(error)) if !is_content(&error) => {
            Unfit::Refused(HistoryError::Open { path, error })
        }
        error => Unfit::Strange(error.to_string()),
    }
}

/// Is it what is in the file that is wrong?
fn is_content(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

/// Gives the file a name of its own, where nothing writes over it.
fn move_aside(path: &Path, why: &str) -> Result<PathBuf, HistoryError> {
    let failed = |error| HistoryError::InTheWay {
        path: path.to_owned(),
        why: why.to_owned(),
        error,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |now| now.as_secs());
    let names = (seconds..).map(|n| path.with_file_name(format!("{FILE}.aside-{n}")));
    for name in names {
        if !name.try_exists().map_err(failed)? {
            fs::rename(path, &name).map_err(failed)?;
            return Ok(name);
        }
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it cannot be read").to_owned()
}
