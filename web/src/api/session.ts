// Who looks at the page.

import { RequestFailed, getJson, request, setCsrf } from "./http";

export interface Session {
  username: string;
  email: string;
  groups: string[];
  csrf: string;
  canLogOut: boolean;
}

/** What somebody who is not logged in can do about it. */
export interface LoginOptions {
  /** Where to find a token. */
  hint: string;
  /** The host of the OpenID issuer; empty without one. */
  issuer: string;
}

export async function loadSession(): Promise<Session | LoginOptions> {
  const response = await fetch("/session", { credentials: "same-origin" });
  // a hub that cannot tell who this is will tell later: nobody has to log in again for that
  if (response.status >= 500) throw new RequestFailed(response.status, response.statusText);
  const body = (await response.json()) as Session & Partial<LoginOptions>;
  if (!response.ok) return { hint: body.hint ?? "", issuer: body.issuer ?? "" };
  setCsrf(body.csrf);
  return body;
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
