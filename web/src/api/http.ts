// Requests to the hub's port. The session is a cookie; changes carry the session's CSRF token.

export class RequestFailed extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly reason = "",
  ) {
    super(message);
  }
}

let csrf = "";
let onLoggedOut = () => {};

export function setCsrf(token: string): void {
  csrf = token;
}

/** What to do when the server does not know the viewer any more. */
export function setLoggedOutHandler(handler: () => void): void {
  onLoggedOut = handler;
}

export function reportLoggedOut(): void {
  onLoggedOut();
}

export async function request(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  if (options.method && options.method !== "GET") headers.set("X-CSRF-Token", csrf);
  let response: Response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "same-origin" });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new RequestFailed(0, "The server does not answer.");
  }
  if (response.ok) return response;
  if (response.status === 401 && path !== "/session") onLoggedOut();
  throw await readFailure(response);
}

export async function getJson<T>(path: string, options: RequestInit = {}): Promise<T> {
  return (await (await request(path, options)).json()) as T;
}

async function readFailure(response: Response): Promise<RequestFailed> {
  const text = await response.text();
  try {
    const body = JSON.parse(text) as { message?: string; error?: string; reason?: string };
    const message = body.message || body.error || response.statusText;
    return new RequestFailed(response.status, message, body.reason);
  } catch {
    return new RequestFailed(response.status, text || response.statusText);
  }
}
