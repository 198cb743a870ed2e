// Who looks at the page.

import { RequestFailed, getJson, request, setCsrf } from "./http";

export interface Session {
  username: string;
  email: string;
  groups: string[];
  csrf: string;
  canLogOut: boolean;
}

/** The session, or null with a hint where to find a token. */
export async function loadSession(): Promise<{ session: Session | null; hint: string }> {
  const response = await fetch("/session", { credentials: "same-origin" });
  const body = (await response.json()) as Session & { hint?: string };
  if (!response.ok) return { session: null, hint: body.hint ?? "" };
  setCsrf(body.csrf);
  return { session: body, hint: "" };
}

export async function logIn(token: string): Promise<string> {
  try {
    const headers = { "Content-Type": "application/json" };
    await request("/session", { method: "POST", headers, body: JSON.stringify({ token }) });
    return "";
  } catch (error) {
    return error instanceof RequestFailed ? error.message : String(error);
  }
}

export async function logOut(): Promise<void> {
  await request("/session", { method: "DELETE" });
  location.assign("/");
}

export async function mayI(
  verb: string,
  resource: { group: string; resource: string },
  namespace = "",
  name = "",
): Promise<boolean> {
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: { verb, group: resource.group, resource: resource.resource, namespace, name } },
  };
  const answer = await getJson<{ status?: { allowed?: boolean } }>(
    "/k8s/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) },
  );
  return answer.status?.allowed ?? false;
}
