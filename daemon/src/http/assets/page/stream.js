// The daemon's events. Says when they stop: what is shown then is old.

/** After so long without any word the link counts as lost, ms: three times the daemon's heartbeat. */
const SILENCE = 30_000;
/** A window is due after so many of its lengths, and never sooner than this, ms. */
const LATE = 5_000;

export class Stream {
  #source = null;
  #heard = Date.now();
  #interval = 1000;
  #handlers;
  #state = "connecting";
  #first = true;

  /** Handlers: hello, window, storm with data; link with "connecting", "live" or "lost", and since when. */
  constructor(handlers) {
    this.#handlers = handlers;
    this.#open();
    setInterval(() => this.#watch(), 1000);
  }

  #open() {
    this.#source?.close();
    const history = this.#first ? 240 : 0;
    this.#source = new EventSource(`api/v1/events?history=${history}`);
    for (const name of ["hello", "window", "storm"]) {
      this.#source.addEventListener(name, (event) => this.#take(name, JSON.parse(event.data)));
    }
    this.#source.addEventListener("error", () => {
      this.#turn("lost");
      // A browser gives up on an answer that is no stream: ask again by ourselves.
      if (this.#source.readyState === EventSource.CLOSED) setTimeout(() => this.#open(), 3000);
    });
  }

  #take(name, data) {
    this.#heard = Date.now();
    if (name === "hello") {
      this.#interval = 1000 * data.sample_seconds;
      this.#first = false;
    }
    this.#turn("live");
    this.#handlers[name](data);
  }

  #watch() {
    const quiet = Date.now() - this.#heard;
    const late = Math.max(LATE, 4 * this.#interval);
    if (this.#state === "live" && quiet > late) this.#turn("lost");
    if (quiet > SILENCE && this.#source.readyState === EventSource.OPEN) {
      this.#heard = Date.now();
      this.#open();
    }
    if (this.#state === "lost") this.#handlers.link("lost", this.#heard);
  }

  #turn(state) {
    if (state === this.#state && state === "live") return;
    this.#state = state;
    this.#handlers.link(state, this.#heard);
  }
}
