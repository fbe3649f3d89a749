// Asks the daemon's API. A problem's own words are the error's.

export async function ask(path) {
  const response = await fetch(`api/v1/${path}`, { cache: "no-cache", headers: { Accept: "application/json" } });
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => ({ detail: response.statusText }));
  throw Object.assign(new Error(problem.detail), { status: response.status });
}
